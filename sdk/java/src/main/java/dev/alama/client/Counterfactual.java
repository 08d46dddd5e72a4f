package dev.alama.client;

import java.math.BigDecimal;
import java.util.List;
import java.util.Map;

/** A way to the target: what to change, and what the decision would then be. */
public record Counterfactual(
        int score,
        String tier,
        double defaultProbability,
        String decision,
        BigDecimal recommendedLimit,
        int recommendedTermDays,
        double recommendedApr,
        List<Change> changes,
        double cost,
        boolean optimal,
        int withinDays,
        Map<String, Object> raw)
        implements Decision {}
