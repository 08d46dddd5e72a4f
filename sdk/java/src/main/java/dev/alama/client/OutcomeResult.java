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
        implements Answer {}
