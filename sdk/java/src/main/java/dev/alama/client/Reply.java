package dev.alama.client;

import java.util.Map;

/** An answer as it came; the names of headers are in lower case. */
record Reply(int status, Map<String, String> headers, byte[] body) {
    /** A header, or null. */
    String header(String name) {
        return headers.get(name);
    }
}
