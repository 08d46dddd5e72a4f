package dev.alama.client;

import java.util.Map;
import java.util.Optional;

/** What became of an event of a loan; {@code result} is {@code recorded}, {@code corrected}, {@code unchanged}, ... */
public record LoanResult(String loan, String result, Optional<String> message, Map<String, Object> raw)
        implements Answer {
    /** Whether it was refused, such as {@code conflict}: {@code message} says what to do. */
    public boolean refused() {
        return message.isPresent();
    }

    /** Shows nothing of a borrower: a name of a loan may say whose it is. */
    @Override
    public String toString() {
        return "LoanResult[result=" + result + ", message=" + message + "]";
    }
}
