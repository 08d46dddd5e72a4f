package dev.alama.client;

import java.io.Serializable;

/**
 * One broken rule of one field; never the value that was sent.
 *
 * @param pointer where it is, such as {@code /mm_months} (RFC 6901)
 * @param code the rule that is broken, such as {@code out_of_range}
 * @param detail the rule in words
 */
public record FieldError(String pointer, String code, String detail) implements Serializable {
    /** The name of the field, as it was sent. */
    public String field() {
        return pointer.substring(pointer.lastIndexOf('/') + 1).replace("~1", "/").replace("~0", "~");
    }
}
