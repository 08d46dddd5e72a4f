package dev.alama.client;

import java.util.List;
import java.util.Map;
import java.util.Optional;

/** What stands in the way where no change leads to the target. */
public record Obstacle(
        String code,
        Optional<String> rule,
        List<String> features,
        String text,
        Map<String, Object> raw)
        implements Answer {
    /** All but the text, which speaks to the applicant. */
    @Override
    public String toString() {
        return "Obstacle[code=" + code + rule.map(each -> ", rule=" + each).orElse("") + ", features=" + features + "]";
    }
}
