package dev.alama.client;

/**
 * A language that reasons can be written in; a word of a later version can be made.
 *
 * @param word how the API spells it
 */
public record Language(String word) {
    /** {@code en} */
    public static final Language ENGLISH = new Language("en");

    /** {@code sw} */
    public static final Language SWAHILI = new Language("sw");

    /** {@code fr} */
    public static final Language FRENCH = new Language("fr");
}
