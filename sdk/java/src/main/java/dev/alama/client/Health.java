package dev.alama.client;

import java.util.Map;
import java.util.Optional;

/** Whether Alama can serve: {@code status} is {@code ok} or {@code unavailable}. */
public record Health(
        String status,
        Optional<String> version,
        Optional<String> model,
        Optional<String> reason,
        Map<String, Object> raw)
        implements Answer {
    /** Whether it can. */
    public boolean ok() {
        return status.equals("ok");
    }
}
