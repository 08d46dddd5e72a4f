package dev.alama.client;

import java.math.BigDecimal;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Why an application is decided so, and what would change it. Nothing of it is stored. */
public record Explanation(
        String requestId,
        int score,
        String tier,
        double defaultProbability,
        String decision,
        BigDecimal recommendedLimit,
        int recommendedTermDays,
        double recommendedApr,
        List<String> rules,
        Optional<CounterOffers> counterOffers,
        double baseScore,
        List<ExplainedValue> shapValues,
        List<Reason> reasons,
        String recourse,
        List<Counterfactual> counterfactuals,
        List<Obstacle> binding,
        Optional<String> notice,
        String language,
        String target,
        String model,
        String policy,
        int processingMs,
        Optional<String> product,
        Map<String, Object> raw)
        implements Decision {}
