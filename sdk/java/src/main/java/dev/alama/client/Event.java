package dev.alama.client;

import java.time.Instant;
import java.time.LocalDate;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Something that has happened, as a webhook tells it: see {@link Webhooks#verify}. */
public sealed interface Event extends Answer {
    /** The same each time it comes: do it once. */
    String id();

    /** Such as {@code score.created}. */
    String type();

    /** When it happened; events may come in another order. */
    Instant timestamp();

    /** {@code test} or {@code live}: a {@code test} decision is nobody's loan. */
    String mode();

    /** A score was given. */
    record ScoreCreatedEvent(
            String id,
            String type,
            Instant timestamp,
            String mode,
            String requestId,
            int score,
            String tier,
            String decision,
            String model,
            String policy,
            Map<String, Object> raw)
            implements Event {}

    /** An officer has decided on a score. */
    record ScoreReviewedEvent(
            String id,
            String type,
            Instant timestamp,
            String mode,
            String requestId,
            String decision,
            String givenDecision,
            boolean overrides,
            String tier,
            String model,
            Map<String, Object> raw)
            implements Event {}

    /** Something new is known of a loan. */
    record OutcomeRecordedEvent(
            String id,
            String type,
            Instant timestamp,
            String mode,
            String requestId,
            String outcome,
            LocalDate date,
            boolean isDefault,
            String tier,
            String model,
            Map<String, Object> raw)
            implements Event {}

    /** Another policy answers; empty stands for the one that comes with Alama. */
    record PolicyActivatedEvent(
            String id,
            String type,
            Instant timestamp,
            String mode,
            Optional<String> model,
            Optional<String> policy,
            Instant activatedAt,
            Map<String, Object> raw)
            implements Event {}

    /** Another model answers; empty stands for the one that comes with Alama. */
    record ModelActivatedEvent(
            String id,
            String type,
            Instant timestamp,
            String mode,
            Optional<String> model,
            Optional<String> policy,
            Instant activatedAt,
            Map<String, Object> raw)
            implements Event {}

    /** Applicants have changed since the model was trained. */
    record ModelDriftDetectedEvent(
            String id,
            String type,
            Instant timestamp,
            String mode,
            String model,
            String card,
            List<Drift> names,
            LocalDate firstDay,
            LocalDate lastDay,
            int scores,
            Map<String, Object> raw)
            implements Event {}

    /** A field, or the score, that has moved away from training. */
    record Drift(String name, double psi, double limit, Map<String, Object> raw) implements Answer {}

    /** An endpoint was given up. */
    record WebhookEndpointDisabledEvent(
            String id,
            String type,
            Instant timestamp,
            String mode,
            String endpointId,
            String reason,
            Map<String, Object> raw)
            implements Event {}

    /** Somebody has asked for it. */
    record WebhookTestEvent(
            String id,
            String type,
            Instant timestamp,
            String mode,
            String endpointId,
            String message,
            Map<String, Object> raw)
            implements Event {}

    /** An event of a kind that this version does not know: answer 2xx all the same. */
    record OtherEvent(String id, String type, Instant timestamp, String mode, Map<String, Object> raw)
            implements Event {}
}
