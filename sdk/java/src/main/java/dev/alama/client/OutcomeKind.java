package dev.alama.client;

/**
 * What can become of a loan; a word of a later version can be made.
 *
 * @param word how the API spells it
 */
public record OutcomeKind(String word) {
    /** {@code repaid} */
    public static final OutcomeKind REPAID = new OutcomeKind("repaid");

    /** {@code defaulted} */
    public static final OutcomeKind DEFAULTED = new OutcomeKind("defaulted");

    /** {@code written_off} */
    public static final OutcomeKind WRITTEN_OFF = new OutcomeKind("written_off");

    /** {@code restructured} */
    public static final OutcomeKind RESTRUCTURED = new OutcomeKind("restructured");
}
