package dev.alama.client;

import java.util.Map;

/** Something that Alama has answered. What may be missing of it is an {@code Optional}. */
public interface Answer {
    /**
     * The JSON as it came, with the members that are not known here: numbers as {@code Long}, or as {@code BigDecimal}
     * where they have a fraction. Its {@code toString} gives names and no values.
     */
    Map<String, Object> raw();
}
