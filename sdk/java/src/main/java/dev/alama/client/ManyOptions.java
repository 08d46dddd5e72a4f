package dev.alama.client;

import java.util.List;
import java.util.function.Function;

/** In which way many applications are to be scored. */
public final class ManyOptions {
    boolean inOrder = true;
    List<Expand> expand = List.of();
    Language language;
    Function<? super Application, String> keyOf = application -> null;
    int atOnce = 8;

    /** As usual. */
    public ManyOptions() {}

    /** Give the rows as they come: a slow one keeps no other waiting. */
    public ManyOptions asTheyCome() {
        this.inOrder = false;
        return this;
    }

    /** Have more than the ten fields in each answer. */
    public ManyOptions expand(Expand... expand) {
        this.expand = List.of(expand);
        return this;
    }

    /** The language of the reasons. */
    public ManyOptions language(Language language) {
        this.language = language;
        return this;
    }

    /** Give each an idempotency key of your own, so that a run that was broken off can be done again. */
    public ManyOptions keyOf(Function<? super Application, String> keyOf) {
        this.keyOf = keyOf;
        return this;
    }

    /** How many requests are on their way at once: 8. */
    public ManyOptions atOnce(int atOnce) {
        if (atOnce < 1) {
            throw new InvalidArgument("at least one request has to be on its way");
        }
        this.atOnce = atOnce;
        return this;
    }
}
