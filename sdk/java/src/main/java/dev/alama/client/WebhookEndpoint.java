package dev.alama.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Where events are sent; {@code kinds} is empty where all are. */
public record WebhookEndpoint(
        String id,
        String url,
        List<String> kinds,
        String description,
        boolean enabled,
        Instant createdAt,
        Optional<Instant> failingSince,
        Optional<Instant> disabledAt,
        Optional<String> disabledReason,
        Pending pending,
        Map<String, Object> raw)
        implements Answer {
    /** Events that have not arrived yet. */
    public record Pending(int count, Optional<Instant> nextAttemptAt, Map<String, Object> raw) implements Answer {}
}
