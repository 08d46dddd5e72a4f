package dev.alama.client;

import java.util.List;

/** In which way an application is to be explained. */
public final class ExplainOptions {
    String target;
    Integer ways;
    List<String> locked = List.of();
    Language language;

    /** As usual. */
    public ExplainOptions() {}

    /** Where the changes are to lead: {@code APPROVED}, a tier or a score. */
    public ExplainOptions target(String target) {
        this.target = target;
        return this;
    }

    /** How many ways to the target to give at most: 3, or from 1 to 5. */
    public ExplainOptions ways(int ways) {
        this.ways = ways;
        return this;
    }

    /**
     * The old spelling of {@link #ways}.
     *
     * @deprecated a limit is what may be lent
     */
    @Deprecated
    public ExplainOptions limit(int limit) {
        return ways(limit);
    }

    /** Fields that must stay as they are. */
    public ExplainOptions locked(String... fields) {
        this.locked = List.of(fields);
        return this;
    }

    /** The language of the reasons and the advice. */
    public ExplainOptions language(Language language) {
        this.language = language;
        return this;
    }
}
