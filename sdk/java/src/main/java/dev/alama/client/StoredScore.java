package dev.alama.client;

import java.math.BigDecimal;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** A score as it is kept, with what was sent and what came of it. */
public record StoredScore(
        String requestId,
        int score,
        String tier,
        double defaultProbability,
        String decision,
        BigDecimal recommendedLimit,
        int recommendedTermDays,
        double recommendedApr,
        List<ShapValue> shapValues,
        int processingMs,
        Optional<Double> baseScore,
        Optional<List<Reason>> reasons,
        Optional<String> model,
        Optional<String> policy,
        Optional<Offer> offer,
        Instant createdAt,
        String mode,
        String keyId,
        Map<String, Object> application,
        Optional<Map<String, Object>> evidence,
        Optional<Review> review,
        Optional<Outcome> outcome,
        Optional<String> product,
        Map<String, Object> raw)
        implements Decision {}
