package dev.alama.client;

/**
 * What an officer can decide; a word of a later version can be made.
 *
 * @param word how the API spells it
 */
public record ReviewDecision(String word) {
    /** {@code APPROVED} */
    public static final ReviewDecision APPROVED = new ReviewDecision("APPROVED");

    /** {@code DECLINED} */
    public static final ReviewDecision DECLINED = new ReviewDecision("DECLINED");
}
