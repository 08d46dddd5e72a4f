package dev.alama.client;

/** No answer came in time; whether anything was done is not known. */
public final class TimedOut extends ConnectionFailed {
    TimedOut(String message, boolean wasSent, Throwable cause) {
        super(message, wasSent, cause);
    }
}
