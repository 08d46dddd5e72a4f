package dev.alama.client;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * Whatever went wrong. What is not known of it is empty.
 *
 * <pre>
 * AlamaError
 *   ConnectionFailed    no answer came, or none of Alama
 *     TimedOut          not in time
 *   InvalidArgument     what was given to the client cannot be used; nothing was sent
 *   InvalidSignature    a webhook that is not to be trusted
 *   Problem             Alama has answered with a problem; itself where the code is not known
 *     Problem.InvalidApplication, Problem.KeyRefused, Problem.TooManyRequests, ...
 * </pre>
 */
public abstract sealed class AlamaError extends RuntimeException
        permits ConnectionFailed, InvalidArgument, InvalidSignature, Problem {
    AlamaError(String message, Throwable cause) {
        super(message, cause);
    }

    /** The code of the problem, such as {@code invalid_application}, which never changes its meaning. */
    public Optional<String> code() {
        return Optional.empty();
    }

    /** The status of the answer, such as 422. */
    public OptionalInt status() {
        return OptionalInt.empty();
    }

    /** The id of the request: quote it when you ask for help. */
    public Optional<String> requestId() {
        return Optional.empty();
    }

    /** Each broken rule of each field. */
    public List<FieldError> errors() {
        return List.of();
    }

    /** The time after which the same request may be sent again. */
    public Optional<Duration> retryAfter() {
        return Optional.empty();
    }
}
