package dev.alama.client;

import java.time.Instant;
import java.util.Map;

/** What an officer decided. */
public record Review(
        String requestId,
        String decision,
        String reason,
        String name,
        String note,
        Instant reviewedAt,
        String givenDecision,
        boolean overrides,
        Map<String, Object> raw)
        implements Answer {}
