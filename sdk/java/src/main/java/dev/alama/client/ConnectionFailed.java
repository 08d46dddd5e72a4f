package dev.alama.client;

/** No answer came, or what came is none of Alama; whether anything was done is not known. */
public sealed class ConnectionFailed extends AlamaError permits TimedOut {
    private final boolean wasSent;

    ConnectionFailed(String message, boolean wasSent, Throwable cause) {
        super(message, cause);
        this.wasSent = wasSent;
    }

    /** False where no connection was made, so that nothing can have been done. */
    public boolean wasSent() {
        return wasSent;
    }
}
