package dev.alama.client;

/**
 * Something that can be asked for beside a score; a word of a later version can be made.
 *
 * @param word how the API spells it
 */
public record Expand(String word) {
    /** {@code base_score} */
    public static final Expand BASE_SCORE = new Expand("base_score");

    /** {@code reasons} */
    public static final Expand REASONS = new Expand("reasons");

    /** {@code model} */
    public static final Expand MODEL = new Expand("model");

    /** {@code policy} */
    public static final Expand POLICY = new Expand("policy");

    /** {@code offer} */
    public static final Expand OFFER = new Expand("offer");

    /** {@code schedule} */
    public static final Expand SCHEDULE = new Expand("schedule");

    /** {@code offers} */
    public static final Expand OFFERS = new Expand("offers");
}
