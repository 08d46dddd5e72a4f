package dev.alama.client;

import java.util.Map;

/** A field that an applicant can change, from one value to another: texts, {@code Long} or {@code BigDecimal}. */
public record Change(String feature, Object from, Object to, String text, Map<String, Object> raw) implements Answer {
    /** The field alone: its values are of the applicant. */
    @Override
    public String toString() {
        return "Change[feature=" + feature + "]";
    }
}
