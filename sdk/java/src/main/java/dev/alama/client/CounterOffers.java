package dev.alama.client;

import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Other loans than the one that was asked for, and is not approved. */
public record CounterOffers(
        Optional<LoanOnOffer> approved,
        Optional<LoanOnOffer> review,
        List<String> asAsked,
        Map<String, Object> raw)
        implements Answer {
    /** Amounts of an applicant's loan are not for a log. */
    @Override
    public String toString() {
        return "CounterOffers[]";
    }
}
