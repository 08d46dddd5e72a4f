package dev.alama.client;

import java.math.BigDecimal;
import java.time.Instant;
import java.util.Map;

/** A score in a list. */
public record ListedScore(
        String requestId,
        Instant createdAt,
        int score,
        String tier,
        double defaultProbability,
        String decision,
        BigDecimal recommendedLimit,
        int recommendedTermDays,
        double recommendedApr,
        Map<String, Object> raw)
        implements Decision {}
