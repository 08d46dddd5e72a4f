package dev.alama.client;

import java.time.LocalDate;
import java.util.LinkedHashMap;
import java.util.Map;

/** What became of a loan, to be told to Alama; docs/outcomes.md says what more may be told, and when. */
public final class NewOutcome {
    private final Map<String, Object> members = new LinkedHashMap<>();

    /** The least that has to be told. */
    public NewOutcome(String requestId, OutcomeKind outcome, LocalDate date) {
        members.put("request_id", requestId);
        members.put("outcome", InvalidArgument.unlessNull(outcome, "the outcome").word());
        members.put("date", date);
    }

    /** What was paid out. */
    public NewOutcome disbursedAmount(Number amount) {
        members.put("disbursed_amount", amount);
        return this;
    }

    /** What was paid back. */
    public NewOutcome repaidAmount(Number amount) {
        members.put("repaid_amount", amount);
        return this;
    }

    /** The day as of which it was a default. */
    public NewOutcome defaultedOn(LocalDate day) {
        members.put("defaulted_on", day);
        return this;
    }

    /** Say that what was told before was wrong. */
    public NewOutcome corrects() {
        members.put("corrects", true);
        return this;
    }

    Map<String, Object> members() {
        return members;
    }
}
