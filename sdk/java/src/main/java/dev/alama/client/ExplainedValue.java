package dev.alama.client;

import java.util.Map;
import java.util.Optional;

/** A field, its value (a text, a {@code Long} or a {@code BigDecimal}), and what that is worth in points. */
public record ExplainedValue(
        String feature,
        Optional<Object> value,
        double contribution,
        Map<String, Object> raw)
        implements Answer {
    /** All but the value, which is of the applicant. */
    @Override
    public String toString() {
        return "ExplainedValue[feature=" + feature + ", contribution=" + contribution + "]";
    }
}
