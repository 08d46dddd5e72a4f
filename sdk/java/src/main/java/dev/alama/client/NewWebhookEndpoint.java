package dev.alama.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** An endpoint that was just made. Its secret is never shown again: keep it. */
public record NewWebhookEndpoint(
        String id,
        String url,
        List<String> kinds,
        String description,
        boolean enabled,
        Instant createdAt,
        Optional<Instant> failingSince,
        Optional<Instant> disabledAt,
        Optional<String> disabledReason,
        WebhookEndpoint.Pending pending,
        String secret,
        Map<String, Object> raw)
        implements Answer {
    /** All but the secret. */
    @Override
    public String toString() {
        return "NewWebhookEndpoint[id=" + id + ", url=" + url + ", kinds=" + kinds + "]";
    }
}
