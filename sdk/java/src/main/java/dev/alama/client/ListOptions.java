package dev.alama.client;

/** Which scores are to be listed. */
public final class ListOptions {
    boolean waiting;
    int pageSize = 100;

    /** All of them. */
    public ListOptions() {}

    /** Those that wait for a person. */
    public ListOptions waiting() {
        this.waiting = true;
        return this;
    }

    /** How many are read at once: 100, which is the most. */
    public ListOptions pageSize(int pageSize) {
        this.pageSize = pageSize;
        return this;
    }
}
