// One class for each code of a problem; docs/generated/codes.md says what to do about each.

import { Problem } from "./errors.js";

/** The class of a code. Minifiers change the names of classes, so the code is said. */
export interface ProblemClass<Code extends string = string> {
  new (...said: ConstructorParameters<typeof Problem>): Problem & { readonly code: Code };
  readonly code: Code;
  /** That such a problem comes with. */
  readonly status: number;
}

function of<Code extends string>(code: Code, status: number): ProblemClass<Code> {
  const named = code.replace(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase());
  return class extends Problem {
    static readonly code = code;
    static readonly status = status;
    override readonly name = named;
    declare readonly code: Code;
  };
}

/** The body is not one JSON object in UTF-8. */
export class MalformedJson extends of("malformed_json", 400) {}

/** What came is not a request of HTTP/1.1, or one that could be read in two ways. */
export class MalformedHttp extends of("malformed_http", 400) {}

/** A query parameter or header is unknown, stands twice or breaks its rule. */
export class InvalidParameter extends of("invalid_parameter", 400) {}

/** No API key came with the request. */
export class KeyMissing extends of("key_missing", 401) {}

/** The key is mistyped, unknown here or revoked. */
export class KeyRefused extends of("key_refused", 401) {}

/** The key was good until its day came. */
export class KeyExpired extends of("key_expired", 403) {}

/** The key may not do this. */
export class ScopeMissing extends of("scope_missing", 403) {}

/** A live key of a lender who has no approved model yet. */
export class OnboardingIncomplete extends of("onboarding_incomplete", 403) {}

/** Nothing is served at this path. */
export class NotFound extends of("not_found", 404) {}

/** There is no score with this `request_id` for this lender and mode. */
export class UnknownScore extends of("unknown_score", 404) {}

/** Nothing is held on this applicant for this lender and mode. */
export class UnknownApplicant extends of("unknown_applicant", 404) {}

/** The audit has no entry of this score, which was given before there was an audit. */
export class NoReceipt extends of("no_receipt", 404) {}

/** There is no webhook endpoint with this id for this lender and mode. */
export class UnknownWebhookEndpoint extends of("unknown_webhook_endpoint", 404) {}

/** There is no event with this id for this lender and mode, or none any more. */
export class UnknownEvent extends of("unknown_event", 404) {}

/** No such model gave scores for this lender and mode. */
export class UnknownModel extends of("unknown_model", 404) {}

/** There is no loan history with this id for this lender. */
export class UnknownHistory extends of("unknown_history", 404) {}

/** There is no candidate with this id for this lender. */
export class UnknownCandidate extends of("unknown_candidate", 404) {}

/** There is no job with this id for this lender. */
export class UnknownJob extends of("unknown_job", 404) {}

/** The path is right, the method is not. */
export class MethodNotAllowed extends of("method_not_allowed", 405) {}

/** The request took too long to come: its head 10 seconds, or its body 30. */
export class RequestTimeout extends of("request_timeout", 408) {}

/** What the applicant of this score sent was erased. */
export class Erased extends of("erased", 410) {}

/** A legal hold stands on the applicant, so nothing of theirs is erased. */
export class UnderHold extends of("under_hold", 409) {}

/** The block list and the watch list have as many entries as a book may have, together. */
export class ListsFull extends of("lists_full", 409) {}

/** Somebody has reviewed this score before, and said something else. */
export class AlreadyReviewed extends of("already_reviewed", 409) {}

/** A cap of the policy's portfolio that declines has no room for the loan. */
export class PortfolioFull extends of("portfolio_full", 409) {}

/** The first request under this `Idempotency-Key` is still being answered. */
export class IdempotencyInFlight extends of("idempotency_in_flight", 409) {}

/** The webhook endpoint is disabled, so nothing is sent to it. */
export class WebhookEndpointDisabled extends of("webhook_endpoint_disabled", 409) {}

/** There are twenty webhook endpoints already for this lender and mode. */
export class TooManyEndpoints extends of("too_many_endpoints", 409) {}

/** Two people approve a model of this lender, and over HTTP that cannot become one. */
export class FewerEyes extends of("fewer_eyes", 409) {}

/** Nobody lends in the lender's currency under the law that `jurisdiction` names. */
export class LawElsewhere extends of("law_elsewhere", 409) {}

/** A step of the onboarding before this one is not done. */
export class StepMissing extends of("step_missing", 409) {}

/** The same is being done for this lender already. */
export class JobUnderWay extends of("job_under_way", 409) {}

/** The loan histories of this lender take 256 MiB already, and no more are taken. */
export class HistoriesFull extends of("histories_full", 409) {}

/** The file of this loan history was erased. */
export class HistoryForgotten extends of("history_forgotten", 409) {}

/** The candidate has failed a gate, so nobody can approve it. */
export class GateFailed extends of("gate_failed", 409) {}

/** The model cannot answer as things stand. */
export class ApprovalBlocked extends of("approval_blocked", 409) {}

/** This signature does not count. */
export class SignatureRefused extends of("signature_refused", 409) {}

/** The only models to go back to were themselves rolled back. */
export class ModelWithdrawn extends of("model_withdrawn", 409) {}

/** No other model of this lender ever answered live, so there is no way back. */
export class NothingBefore extends of("nothing_before", 409) {}

/** The body is larger than 64 KiB. */
export class BodyTooLarge extends of("body_too_large", 413) {}

/** The body is not said to be plain, uncompressed JSON. */
export class UnsupportedMediaType extends of("unsupported_media_type", 415) {}

/** Fields of the application break rules. */
export class InvalidApplication extends of("invalid_application", 422) {}

/** The file is no table by its first bytes, or has too many columns. */
export class MappingNeeded extends of("mapping_needed", 422) {}
export class StatementPassword extends of("statement_password", 422) {}
export class StatementTooCostly extends of("statement_too_costly", 422) {}
export class StatementUnreadable extends of("statement_unreadable", 422) {}
export class InvalidFile extends of("invalid_file", 422) {}

/** Fields of a body that is no application break rules. */
export class InvalidRequest extends of("invalid_request", 422) {}

/** This `Idempotency-Key` came with another body or query within the last 72 hours. */
export class IdempotencyKeyReused extends of("idempotency_key_reused", 422) {}

/** The key is over its rate. */
export class TooManyRequests extends of("too_many_requests", 429) {}

/** The request line and the headers have more than 32 KiB. */
export class HeadTooLarge extends of("head_too_large", 431) {}

/** A defect of Alama. */
export class InternalError extends of("internal_error", 500) {}

/** More is asked for at once than can be given; nothing was done. */
export class Busy extends of("busy", 503) {}

/** A model, a policy or the report of a loan history that the answer needs cannot be used. */
export class ModelUnavailable extends of("model_unavailable", 503) {}

/** The database cannot take or give anything right now. */
export class Unavailable extends of("unavailable", 503) {}
