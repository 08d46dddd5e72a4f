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
        implements Answer {
    /** All but who decided, and the note. */
    @Override
    public String toString() {
        return "Review[requestId=" + requestId + ", decision=" + decision + ", reason=" + reason + ", reviewedAt="
                + reviewedAt + ", givenDecision=" + givenDecision + ", overrides=" + overrides + "]";
    }
}
