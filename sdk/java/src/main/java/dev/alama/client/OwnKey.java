package dev.alama.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What the key of the client is; {@code expiresAt} is empty where it never ends.
 *
 * @param rateLimit requests a second
 * @param burst requests at once
 */
public record OwnKey(
        String id,
        String lender,
        String currency,
        String mode,
        List<String> scopes,
        Instant createdAt,
        Optional<Instant> expiresAt,
        int rateLimit,
        int burst,
        Map<String, Object> raw)
        implements Answer {}
