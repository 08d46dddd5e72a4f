package dev.alama.client;

import java.time.LocalDate;
import java.util.LinkedHashMap;
import java.util.Map;

/** What happened to a loan, to be told to Alama; docs/loans.md says what more may be told, and of what. */
public final class NewLoanEvent {
    private final Map<String, Object> members = new LinkedHashMap<>();

    private NewLoanEvent(String applicantRef, String loan, String kind, LocalDate date) {
        members.put("applicant_ref", applicantRef);
        members.put("loan", loan);
        members.put("kind", kind);
        members.put("date", date);
    }

    /** A loan was paid out; {@code loan} is your own name for it. */
    public static NewLoanEvent disbursed(String applicantRef, String loan, LocalDate date, Number amount) {
        return new NewLoanEvent(applicantRef, loan, "disbursed", date).with("amount", amount);
    }

    /** Something came back. */
    public static NewLoanEvent payment(String applicantRef, String loan, LocalDate date, Number amount) {
        return new NewLoanEvent(applicantRef, loan, "payment", date).with("amount", amount);
    }

    /** Nothing is waited for any more: {@code repaid}, {@code written_off} or {@code cancelled}. */
    public static NewLoanEvent closed(String applicantRef, String loan, LocalDate date, String closedAs) {
        return new NewLoanEvent(applicantRef, loan, "closed", date).with("closed_as", closedAs);
    }

    /** Of a payment: your own name for it. */
    public NewLoanEvent id(String id) {
        return with("id", id);
    }

    /** The score that the loan was given on. */
    public NewLoanEvent requestId(String requestId) {
        return with("request_id", requestId);
    }

    /** What was agreed on: so much in all, in equal payments, the last of them on this day. */
    public NewLoanEvent due(LocalDate last, Number total, int instalments) {
        return with("due_date", last).with("due_amount", total).with("instalments", instalments);
    }

    /** When the first of these payments falls due, where they are not spaced evenly from the start. */
    public NewLoanEvent firstDueDate(LocalDate day) {
        return with("first_due_date", day);
    }

    /** Say that what was told before was wrong. */
    public NewLoanEvent corrects() {
        return with("corrects", true);
    }

    private NewLoanEvent with(String name, Object value) {
        members.put(name, value);
        return this;
    }

    Map<String, Object> members() {
        return members;
    }
}
