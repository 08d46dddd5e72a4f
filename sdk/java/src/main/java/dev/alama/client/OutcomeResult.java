package dev.alama.client;

import java.util.Map;
import java.util.Optional;

/** What became of a report on a loan; {@code result} is {@code recorded}, {@code updated}, {@code unchanged}, ... */
public record OutcomeResult(
        String requestId,
        String result,
        Optional<Boolean> isDefault,
        Optional<String> message,
        Map<String, Object> raw)
        implements Answer {
    /** Whether it was refused, such as {@code unknown_score}: {@code message} says what to do. */
    public boolean refused() {
        return message.isPresent();
    }
}
