package dev.alama.client;

import java.math.BigDecimal;
import java.util.List;
import java.util.Map;

/** The payments of a loan of the recommended limit; every sum agrees to the smallest unit. */
public record Schedule(
        String currency,
        BigDecimal amount,
        BigDecimal received,
        BigDecimal fee,
        BigDecimal tax,
        BigDecimal interest,
        BigDecimal total,
        List<Payment> payments,
        Map<String, Object> raw)
        implements Answer {
    /** One payment of a loan. */
    public record Payment(
            int dueInDays,
            BigDecimal amount,
            BigDecimal principal,
            BigDecimal interest,
            BigDecimal fee,
            Map<String, Object> raw)
            implements Answer {}
}
