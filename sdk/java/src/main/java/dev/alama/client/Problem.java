package dev.alama.client;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Alama, or what stands in front of it, has answered with a problem.
 *
 * <p>Each code has a class of its own here: {@code catch (Problem.InvalidApplication error)}. A code that is not known,
 * or none, is a {@code Problem} itself.
 */
public sealed class Problem extends AlamaError {
    private final int status;
    private final String code;
    private final String title;
    private final String detail;
    private final String requestId;
    private final Duration retryAfter;
    private final ArrayList<FieldError> errors; // can be serialized

    Problem(Told told) {
        super(null, null);
        status = told.status;
        code = told.text("code", null);
        title = told.text("title", "");
        detail = told.text("detail", "");
        requestId = told.text("request_id", told.requestId);
        retryAfter = told.retryAfter;
        errors = told.errors();
    }

    /** Make the exception of an answer. */
    static Problem of(Told told) {
        Kind kind = BY_CODE.get(told.text("code", ""));
        return kind == null ? new Problem(told) : kind.make.apply(told);
    }

    @Override
    public Optional<String> code() {
        return Optional.ofNullable(code);
    }

    @Override
    public OptionalInt status() {
        return OptionalInt.of(status);
    }

    /** The problem in a few words. */
    public String title() {
        return title;
    }

    /** The problem in a sentence. */
    public String detail() {
        return detail;
    }

    @Override
    public Optional<String> requestId() {
        return Optional.ofNullable(requestId);
    }

    @Override
    public List<FieldError> errors() {
        return List.copyOf(errors);
    }

    @Override
    public Optional<Duration> retryAfter() {
        return Optional.ofNullable(retryAfter);
    }

    @Override
    public String getMessage() {
        String words = Stream.of(String.valueOf(status), code, detail)
                .filter(each -> each != null && !each.isEmpty())
                .collect(Collectors.joining(" "));
        String named = requestId == null ? "" : " (" + requestId + ")";
        String broken = errors.stream()
                .map(each -> "\n  " + each.pointer() + " " + each.detail())
                .collect(Collectors.joining());
        return words + named + broken;
    }

    /** An answer that is a problem: its status, its body, and what its headers say. */
    record Told(int status, Map<String, ?> body, String requestId, Duration retryAfter) {
        String text(String name, String otherwise) {
            return body.get(name) instanceof String text ? text : otherwise;
        }

        ArrayList<FieldError> errors() {
            ArrayList<FieldError> found = new ArrayList<>();
            if (body.get("errors") instanceof List<?> listed) {
                for (Object each : listed) {
                    if (each instanceof Map<?, ?> error) {
                        found.add(new FieldError(part(error, "pointer"), part(error, "code"), part(error, "detail")));
                    }
                }
            }
            return found;
        }

        private static String part(Map<?, ?> error, String name) {
            return error.get(name) instanceof String text ? text : "";
        }
    }

    /** A code of the service, its status and its class. */
    record Kind(String code, int status, Class<? extends Problem> type, Function<Told, Problem> make) {}

    private static Kind kind(Class<? extends Problem> type, int status, Function<Told, Problem> make) {
        return new Kind(Reader.wireName(type.getSimpleName()), status, type, make);
    }

    static final List<Kind> KINDS = List.of(
            kind(MalformedJson.class, 400, MalformedJson::new),
            kind(MalformedHttp.class, 400, MalformedHttp::new),
            kind(InvalidParameter.class, 400, InvalidParameter::new),
            kind(KeyMissing.class, 401, KeyMissing::new),
            kind(KeyRefused.class, 401, KeyRefused::new),
            kind(KeyExpired.class, 403, KeyExpired::new),
            kind(ScopeMissing.class, 403, ScopeMissing::new),
            kind(OnboardingIncomplete.class, 403, OnboardingIncomplete::new),
            kind(NotFound.class, 404, NotFound::new),
            kind(UnknownScore.class, 404, UnknownScore::new),
            kind(UnknownApplicant.class, 404, UnknownApplicant::new),
            kind(NoReceipt.class, 404, NoReceipt::new),
            kind(UnknownWebhookEndpoint.class, 404, UnknownWebhookEndpoint::new),
            kind(UnknownEvent.class, 404, UnknownEvent::new),
            kind(UnknownModel.class, 404, UnknownModel::new),
            kind(UnknownHistory.class, 404, UnknownHistory::new),
            kind(UnknownCandidate.class, 404, UnknownCandidate::new),
            kind(UnknownJob.class, 404, UnknownJob::new),
            kind(MethodNotAllowed.class, 405, MethodNotAllowed::new),
            kind(RequestTimeout.class, 408, RequestTimeout::new),
            kind(Erased.class, 410, Erased::new),
            kind(UnderHold.class, 409, UnderHold::new),
            kind(ListsFull.class, 409, ListsFull::new),
            kind(AlreadyReviewed.class, 409, AlreadyReviewed::new),
            kind(PortfolioFull.class, 409, PortfolioFull::new),
            kind(IdempotencyInFlight.class, 409, IdempotencyInFlight::new),
            kind(WebhookEndpointDisabled.class, 409, WebhookEndpointDisabled::new),
            kind(TooManyEndpoints.class, 409, TooManyEndpoints::new),
            kind(FewerEyes.class, 409, FewerEyes::new),
            kind(LawElsewhere.class, 409, LawElsewhere::new),
            kind(StepMissing.class, 409, StepMissing::new),
            kind(JobUnderWay.class, 409, JobUnderWay::new),
            kind(HistoriesFull.class, 409, HistoriesFull::new),
            kind(HistoryForgotten.class, 409, HistoryForgotten::new),
            kind(GateFailed.class, 409, GateFailed::new),
            kind(ApprovalBlocked.class, 409, ApprovalBlocked::new),
            kind(SignatureRefused.class, 409, SignatureRefused::new),
            kind(ModelWithdrawn.class, 409, ModelWithdrawn::new),
            kind(NothingBefore.class, 409, NothingBefore::new),
            kind(BodyTooLarge.class, 413, BodyTooLarge::new),
            kind(UnsupportedMediaType.class, 415, UnsupportedMediaType::new),
            kind(InvalidApplication.class, 422, InvalidApplication::new),
            kind(MappingNeeded.class, 422, MappingNeeded::new),
            kind(StatementPassword.class, 422, StatementPassword::new),
            kind(StatementTooCostly.class, 422, StatementTooCostly::new),
            kind(StatementUnreadable.class, 422, StatementUnreadable::new),
            kind(InvalidFile.class, 422, InvalidFile::new),
            kind(InvalidRequest.class, 422, InvalidRequest::new),
            kind(IdempotencyKeyReused.class, 422, IdempotencyKeyReused::new),
            kind(TooManyRequests.class, 429, TooManyRequests::new),
            kind(HeadTooLarge.class, 431, HeadTooLarge::new),
            kind(InternalError.class, 500, InternalError::new),
            kind(Busy.class, 503, Busy::new),
            kind(ModelUnavailable.class, 503, ModelUnavailable::new),
            kind(Unavailable.class, 503, Unavailable::new));

    private static final Map<String, Kind> BY_CODE =
            KINDS.stream().collect(Collectors.toUnmodifiableMap(Kind::code, Function.identity()));

    /** The body is not one JSON object in UTF-8. */
    public static final class MalformedJson extends Problem {
        MalformedJson(Told told) {
            super(told);
        }
    }

    /** What came is not a request of HTTP/1.1, or one that could be read in two ways. */
    public static final class MalformedHttp extends Problem {
        MalformedHttp(Told told) {
            super(told);
        }
    }

    /** A query parameter or header is unknown, stands twice or breaks its rule. */
    public static final class InvalidParameter extends Problem {
        InvalidParameter(Told told) {
            super(told);
        }
    }

    /** No API key came with the request. */
    public static final class KeyMissing extends Problem {
        KeyMissing(Told told) {
            super(told);
        }
    }

    /** The key is mistyped, unknown here or revoked. */
    public static final class KeyRefused extends Problem {
        KeyRefused(Told told) {
            super(told);
        }
    }

    /** The key was good until its day came. */
    public static final class KeyExpired extends Problem {
        KeyExpired(Told told) {
            super(told);
        }
    }

    /** The key may not do this. */
    public static final class ScopeMissing extends Problem {
        ScopeMissing(Told told) {
            super(told);
        }
    }

    /** A live key of a lender who has no approved model yet. */
    public static final class OnboardingIncomplete extends Problem {
        OnboardingIncomplete(Told told) {
            super(told);
        }
    }

    /** Nothing is served at this path. */
    public static final class NotFound extends Problem {
        NotFound(Told told) {
            super(told);
        }
    }

    /** There is no score with this {@code request_id} for this lender and mode. */
    public static final class UnknownScore extends Problem {
        UnknownScore(Told told) {
            super(told);
        }
    }

    /** Nothing is held on this applicant for this lender and mode. */
    public static final class UnknownApplicant extends Problem {
        UnknownApplicant(Told told) {
            super(told);
        }
    }

    /** The audit has no entry of this score, which was given before there was an audit. */
    public static final class NoReceipt extends Problem {
        NoReceipt(Told told) {
            super(told);
        }
    }

    /** There is no webhook endpoint with this id for this lender and mode. */
    public static final class UnknownWebhookEndpoint extends Problem {
        UnknownWebhookEndpoint(Told told) {
            super(told);
        }
    }

    /** There is no event with this id for this lender and mode, or none any more. */
    public static final class UnknownEvent extends Problem {
        UnknownEvent(Told told) {
            super(told);
        }
    }

    /** No such model gave scores for this lender and mode. */
    public static final class UnknownModel extends Problem {
        UnknownModel(Told told) {
            super(told);
        }
    }

    /** There is no loan history with this id for this lender. */
    public static final class UnknownHistory extends Problem {
        UnknownHistory(Told told) {
            super(told);
        }
    }

    /** There is no candidate with this id for this lender. */
    public static final class UnknownCandidate extends Problem {
        UnknownCandidate(Told told) {
            super(told);
        }
    }

    /** There is no job with this id for this lender. */
    public static final class UnknownJob extends Problem {
        UnknownJob(Told told) {
            super(told);
        }
    }

    /** The path is right, the method is not. */
    public static final class MethodNotAllowed extends Problem {
        MethodNotAllowed(Told told) {
            super(told);
        }
    }

    /** The request took too long to come: its head 10 seconds, or its body 30. */
    public static final class RequestTimeout extends Problem {
        RequestTimeout(Told told) {
            super(told);
        }
    }

    /** What the applicant of this score sent was erased. */
    public static final class Erased extends Problem {
        Erased(Told told) {
            super(told);
        }
    }

    /** A legal hold stands on the applicant, so nothing of theirs is erased. */
    public static final class UnderHold extends Problem {
        UnderHold(Told told) {
            super(told);
        }
    }

    /** The block list and the watch list have as many entries as a book may have, together. */
    public static final class ListsFull extends Problem {
        ListsFull(Told told) {
            super(told);
        }
    }

    /** Somebody has reviewed this score before, and said something else. */
    public static final class AlreadyReviewed extends Problem {
        AlreadyReviewed(Told told) {
            super(told);
        }
    }

    /** A cap of the policy's portfolio that declines has no room for the loan. */
    public static final class PortfolioFull extends Problem {
        PortfolioFull(Told told) {
            super(told);
        }
    }

    /** The first request under this {@code Idempotency-Key} is still being answered. */
    public static final class IdempotencyInFlight extends Problem {
        IdempotencyInFlight(Told told) {
            super(told);
        }
    }

    /** The webhook endpoint is disabled, so nothing is sent to it. */
    public static final class WebhookEndpointDisabled extends Problem {
        WebhookEndpointDisabled(Told told) {
            super(told);
        }
    }

    /** There are twenty webhook endpoints already for this lender and mode. */
    public static final class TooManyEndpoints extends Problem {
        TooManyEndpoints(Told told) {
            super(told);
        }
    }

    /** Two people approve a model of this lender, and over HTTP that cannot become one. */
    public static final class FewerEyes extends Problem {
        FewerEyes(Told told) {
            super(told);
        }
    }

    /** Nobody lends in the lender's currency under the law that {@code jurisdiction} names. */
    public static final class LawElsewhere extends Problem {
        LawElsewhere(Told told) {
            super(told);
        }
    }

    /** A step of the onboarding before this one is not done. */
    public static final class StepMissing extends Problem {
        StepMissing(Told told) {
            super(told);
        }
    }

    /** The same is being done for this lender already. */
    public static final class JobUnderWay extends Problem {
        JobUnderWay(Told told) {
            super(told);
        }
    }

    /** The loan histories of this lender take 256 MiB already, and no more are taken. */
    public static final class HistoriesFull extends Problem {
        HistoriesFull(Told told) {
            super(told);
        }
    }

    /** The file of this loan history was erased. */
    public static final class HistoryForgotten extends Problem {
        HistoryForgotten(Told told) {
            super(told);
        }
    }

    /** The candidate has failed a gate, so nobody can approve it. */
    public static final class GateFailed extends Problem {
        GateFailed(Told told) {
            super(told);
        }
    }

    /** The model cannot answer as things stand. */
    public static final class ApprovalBlocked extends Problem {
        ApprovalBlocked(Told told) {
            super(told);
        }
    }

    /** This signature does not count. */
    public static final class SignatureRefused extends Problem {
        SignatureRefused(Told told) {
            super(told);
        }
    }

    /** The only models to go back to were themselves rolled back. */
    public static final class ModelWithdrawn extends Problem {
        ModelWithdrawn(Told told) {
            super(told);
        }
    }

    /** No other model of this lender ever answered live, so there is no way back. */
    public static final class NothingBefore extends Problem {
        NothingBefore(Told told) {
            super(told);
        }
    }

    /** The body is larger than 64 KiB. */
    public static final class BodyTooLarge extends Problem {
        BodyTooLarge(Told told) {
            super(told);
        }
    }

    /** The body is not said to be plain, uncompressed JSON. */
    public static final class UnsupportedMediaType extends Problem {
        UnsupportedMediaType(Told told) {
            super(told);
        }
    }

    /** Fields of the application break rules. */
    public static final class InvalidApplication extends Problem {
        InvalidApplication(Told told) {
            super(told);
        }
    }

    /** The columns of a table are not known, or its dates can be read in two ways. */
    public static final class MappingNeeded extends Problem {
        MappingNeeded(Told told) {
            super(told);
        }
    }

    /** A PDF is protected, and no password or a wrong one came with it. */
    public static final class StatementPassword extends Problem {
        StatementPassword(Told told) {
            super(told);
        }
    }

    /** A PDF takes more memory or time than one file may. */
    public static final class StatementTooCostly extends Problem {
        StatementTooCostly(Told told) {
            super(told);
        }
    }

    /** The file is no statement that can be read. */
    public static final class StatementUnreadable extends Problem {
        StatementUnreadable(Told told) {
            super(told);
        }
    }

    /** The file is no table by its first bytes, or has too many columns. */
    public static final class InvalidFile extends Problem {
        InvalidFile(Told told) {
            super(told);
        }
    }

    /** Fields of a body that is no application break rules. */
    public static final class InvalidRequest extends Problem {
        InvalidRequest(Told told) {
            super(told);
        }
    }

    /** This {@code Idempotency-Key} came with another body or query within the last 72 hours. */
    public static final class IdempotencyKeyReused extends Problem {
        IdempotencyKeyReused(Told told) {
            super(told);
        }
    }

    /** The key is over its rate. */
    public static final class TooManyRequests extends Problem {
        TooManyRequests(Told told) {
            super(told);
        }
    }

    /** The request line and the headers have more than 32 KiB. */
    public static final class HeadTooLarge extends Problem {
        HeadTooLarge(Told told) {
            super(told);
        }
    }

    /** A defect of Alama. */
    public static final class InternalError extends Problem {
        InternalError(Told told) {
            super(told);
        }
    }

    /** More is asked for at once than can be given; nothing was done. */
    public static final class Busy extends Problem {
        Busy(Told told) {
            super(told);
        }
    }

    /** A model, a policy or the report of a loan history that the answer needs cannot be used. */
    public static final class ModelUnavailable extends Problem {
        ModelUnavailable(Told told) {
            super(told);
        }
    }

    /** The database cannot take or give anything right now. */
    public static final class Unavailable extends Problem {
        Unavailable(Told told) {
            super(told);
        }
    }
}
