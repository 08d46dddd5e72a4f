package dev.alama.client;

import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.DoubleSupplier;

/** The attempts of one call: how long each may take, and when the next may begin. Times are in seconds. */
final class Tries {
    static final int TOO_MANY_REQUESTS = 429;

    /** What does no harm when it is done twice may be sent again. */
    private static final Set<Integer> NOBODY_KNOWS = Set.of(408, 500, 502, 503, 504);

    static final double ANSWERED_WAIT_MIN = 1;
    private static final double FIRST_WAIT = 0.5;
    private static final double WAIT_MAX = 8;

    /** Waits are longer by chance, so that those who were refused together do not come together. */
    private static final double JITTER_MAX = 1.25;

    private final boolean repeatable;
    private final DoubleSupplier now;
    private final double timeout;
    private final double deadline;
    private int left;
    private double backoff = FIRST_WAIT;

    Tries(boolean repeatable, DoubleSupplier now, int retries, Duration timeout, Duration totalTimeout) {
        this.repeatable = repeatable;
        this.now = now;
        this.left = retries;
        this.timeout = seconds(timeout);
        this.deadline = now.getAsDouble() + seconds(totalTimeout);
    }

    /** What the next attempt may take. */
    Duration timeout() {
        double seconds = Math.max(0.001, Math.min(timeout, deadline - now.getAsDouble()));
        return Duration.ofNanos((long) (seconds * 1e9));
    }

    /** The wait until the next attempt; throws the error where there is to be none. */
    double await(AlamaError error, boolean forFree) {
        if (!again(error) || (left == 0 && !forFree)) {
            throw error;
        }
        left -= forFree ? 0 : 1;
        double least = error.status().isPresent() ? ANSWERED_WAIT_MIN : 0;
        double wait = error.retryAfter().map(Tries::seconds).orElse(Math.max(backoff, least));
        backoff = Math.min(2 * backoff, WAIT_MAX);
        wait *= ThreadLocalRandom.current().nextDouble(1, JITTER_MAX);
        if (now.getAsDouble() + wait >= deadline) {
            throw error;
        }
        return wait;
    }

    private boolean again(AlamaError error) {
        if (error instanceof ConnectionFailed failed) {
            return repeatable || !failed.wasSent();
        }
        int status = error.status().orElse(0);
        boolean nothingWasDone = status == TOO_MANY_REQUESTS
                || error instanceof Problem.Busy
                || error instanceof Problem.IdempotencyInFlight;
        return nothingWasDone || (repeatable && NOBODY_KNOWS.contains(status));
    }

    static double seconds(Duration duration) {
        return duration.toNanos() / 1e9;
    }

    /** Read a {@code Retry-After}, which is in seconds or a date; null where it is neither. */
    static Duration retryAfter(String text) {
        if (text == null) {
            return null;
        }
        if (text.matches("[0-9]{1,9}")) {
            return Duration.ofSeconds(Long.parseLong(text));
        }
        try {
            Instant then = ZonedDateTime.parse(text, DateTimeFormatter.RFC_1123_DATE_TIME).toInstant();
            Duration wait = Duration.between(Instant.now(), then);
            return wait.isNegative() ? Duration.ZERO : wait;
        } catch (DateTimeException error) {
            return null;
        }
    }
}
