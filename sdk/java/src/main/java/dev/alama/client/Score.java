package dev.alama.client;

import java.math.BigDecimal;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The answer to an application. What was not asked for by {@link ScoreOptions#expand} is empty. */
public record Score(
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
        Optional<Schedule> schedule,
        Optional<List<LoanOnOffer>> offers,
        Optional<String> product,
        Map<String, Object> raw)
        implements Decision {}
