package dev.alama.client;

/** A webhook was not signed with the secret, was changed on its way, or is old. */
public final class InvalidSignature extends AlamaError {
    InvalidSignature(String message, Throwable cause) {
        super(message, cause);
    }
}
