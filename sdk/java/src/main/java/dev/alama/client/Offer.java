package dev.alama.client;

import java.math.BigDecimal;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** How the recommended loan came about. */
public record Offer(
        String currency,
        double defaultProbability,
        PriceParts price,
        BigDecimal fee,
        BigDecimal expectedLoss,
        List<String> rules,
        Optional<String> aprDefinition,
        Optional<Aprs> aprs,
        Optional<List<String>> cappedBy,
        Optional<CounterOffers> counterOffers,
        Map<String, Object> raw)
        implements Answer {
    /** What the price is made of, in percent a year. */
    public record PriceParts(
            double expectedLoss,
            double runningCost,
            double funding,
            double margin,
            Optional<Double> tax,
            Map<String, Object> raw)
            implements Answer {}

    /** The price by each definition, in percent a year. */
    public record Aprs(double simple, double nominal, double effective, Map<String, Object> raw)
            implements Answer {}
}
