package dev.alama.client;

import java.util.Map;
import java.util.Optional;

/** Why, in words for the applicant; a rule has neither a field nor a contribution. */
public record Reason(
        String code,
        Optional<String> feature,
        Optional<Double> contribution,
        String text,
        Map<String, Object> raw)
        implements Answer {}
