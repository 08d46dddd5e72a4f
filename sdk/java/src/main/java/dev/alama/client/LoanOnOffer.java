package dev.alama.client;

import java.math.BigDecimal;
import java.util.Map;

/** A loan that could be asked for, and what would be answered. */
public record LoanOnOffer(
        String decision,
        BigDecimal amount,
        int termDays,
        BigDecimal payment,
        int payments,
        BigDecimal total,
        double apr,
        double defaultProbability,
        Map<String, Object> raw)
        implements Answer {
    /** Amounts of an applicant's loan are not for a log. */
    @Override
    public String toString() {
        return "LoanOnOffer[]";
    }
}
