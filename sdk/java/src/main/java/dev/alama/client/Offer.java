package dev.alama.client;

import java.math.BigDecimal;
import java.util.List;
import java.util.Map;

/** How the recommended loan came about. */
public record Offer(
        String currency,
        double defaultProbability,
        PriceParts price,
        BigDecimal fee,
        BigDecimal expectedLoss,
        List<String> rules,
        Map<String, Object> raw)
        implements Answer {
    /** What the price is made of, in percent a year. */
    public record PriceParts(
            double expectedLoss, double runningCost, double funding, double margin, Map<String, Object> raw)
            implements Answer {}
}
