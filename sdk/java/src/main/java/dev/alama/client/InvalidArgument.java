package dev.alama.client;

/** What was given to this client cannot be used, and nothing was sent: a mistake of the program, which it can mend. */
public final class InvalidArgument extends AlamaError {
    InvalidArgument(String message) {
        super(message, null);
    }

    /** Give what is there, or throw where it is null; never with a value. */
    static <T> T unlessNull(T given, String what) {
        if (given == null) {
            throw new InvalidArgument(what + (what.endsWith("s") ? " are" : " is") + " null");
        }
        return given;
    }
}
