package dev.alama.client;

import java.math.BigDecimal;
import java.time.Instant;
import java.time.LocalDate;
import java.util.Map;
import java.util.Optional;

/** What became of a loan, as far as is known. */
public record Outcome(
        String outcome,
        LocalDate date,
        boolean isDefault,
        Optional<BigDecimal> disbursedAmount,
        Optional<BigDecimal> repaidAmount,
        Instant recordedAt,
        Map<String, Object> raw)
        implements Answer {
    /** All but the amounts. */
    @Override
    public String toString() {
        return "Outcome[outcome=" + outcome + ", date=" + date + ", isDefault=" + isDefault
                + ", recordedAt=" + recordedAt + "]";
    }
}
