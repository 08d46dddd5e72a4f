package dev.alama.client;

import java.util.List;

/** In which way an application is to be scored. */
public final class ScoreOptions {
    List<Expand> expand = List.of();
    Language language;
    String idempotencyKey;

    /** As usual. */
    public ScoreOptions() {}

    /** Have more than the ten fields in the answer. */
    public ScoreOptions expand(Expand... expand) {
        this.expand = List.of(expand);
        return this;
    }

    /** The language of the reasons. */
    public ScoreOptions language(Language language) {
        this.language = language;
        return this;
    }

    /**
     * A key of your own, such as the id of the loan, in ASCII: it names one score for 72 hours, over restarts of your
     * program too. Without it each call has one of its own.
     */
    public ScoreOptions idempotencyKey(String idempotencyKey) {
        this.idempotencyKey = idempotencyKey;
        return this;
    }
}
