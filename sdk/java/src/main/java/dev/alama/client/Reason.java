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
        implements Answer {
    /** All but the text, which has figures of the applicant. */
    @Override
    public String toString() {
        return "Reason[code=" + code + feature.map(each -> ", feature=" + each).orElse("")
                + contribution.map(each -> ", contribution=" + each).orElse("") + "]";
    }
}
