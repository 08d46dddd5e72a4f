// What is sent to Alama and what it answers, by the names of its JSON. Members that this version
// does not know are kept as they came; times are texts of ISO 8601.

import type { EventType } from "./webhooks.js";

export type Language = "en" | "sw" | "fr";
export type Expand = "base_score" | "reasons" | "model" | "policy" | "offer" | "schedule" | "offers";

/** One of the words that are known today; expect more. */
export type Open<Word extends string> = Word | (string & Record<never, never>);

type Maybe<T> = T | null | undefined;

/** The fields of an application; docs/fields.md has their units and ranges. */
export interface ApplicationFields {
  mm_months?: Maybe<number>;
  avg_inflow?: Maybe<number>;
  avg_outflow?: Maybe<number>;
  avg_balance?: Maybe<number>;
  balance_stability?: Maybe<number>;
  counterparties?: Maybe<number>;
  tx_frequency?: Maybe<number>;
  weekend_activity?: Maybe<number>;
  airtime_avg?: Maybe<number>;
  airtime_freq?: Maybe<number>;
  airtime_regularity?: number;
  device_type?: Maybe<string>;
  device_age_months?: Maybe<number>;
  requested_amount?: Maybe<number>;
  requested_term_days?: Maybe<number>;
  loan_purpose?: Maybe<string>;
  region?: Maybe<string>;
  existing_repayments?: Maybe<number>;
  evidence?: Maybe<string>;
  product?: Maybe<string>;
  applicant_ref?: Maybe<string>;
  /** The compact spelling of `mm_months`. */
  mobile_money_months?: Maybe<number>;
  /** The compact spelling of `avg_inflow`. */
  monthly_inflow?: Maybe<number>;
  /** The compact spelling of `balance_stability`. */
  stability_score?: Maybe<number>;
}

/** A loan request: months, inflow and stability, each in either spelling, and regularity. */
export type Application = ApplicationFields & { airtime_regularity: number } & (
    { mm_months: number } | { mobile_money_months: number }
  ) &
  ({ avg_inflow: number } | { monthly_inflow: number }) &
  ({ balance_stability: number } | { stability_score: number });

/** What became of a loan; docs/outcomes.md says which members go with which. */
export interface NewOutcome {
  request_id: string;
  outcome: "repaid" | "defaulted" | "written_off" | "restructured";
  /** A day, such as `2026-11-16`. */
  date: string;
  disbursed_amount?: Maybe<number>;
  repaid_amount?: Maybe<number>;
  defaulted_on?: Maybe<string>;
  corrects?: boolean;
}

/** What happened to a loan; docs/loans.md says which members go with which kind. */
export interface NewLoanEvent {
  applicant_ref: string;
  /** Your own name for the loan. */
  loan: string;
  kind: "disbursed" | "payment" | "closed";
  /** A day, such as `2026-11-16`. */
  date: string;
  amount?: Maybe<number>;
  id?: Maybe<string>;
  request_id?: Maybe<string>;
  due_date?: Maybe<string>;
  due_amount?: Maybe<number>;
  instalments?: Maybe<number>;
  first_due_date?: Maybe<string>;
  closed_as?: Maybe<"repaid" | "written_off" | "cancelled">;
  corrects?: boolean;
}

/** What an officer decided, and why. */
export interface NewReview {
  decision: "APPROVED" | "DECLINED";
  reason:
    | "income_verified"
    | "documents_checked"
    | "known_customer"
    | "guaranteed"
    | "data_corrected"
    | "cannot_afford"
    | "identity_doubted"
    | "fraud_suspected"
    | "outside_policy"
    | "other";
  /** Of the officer. */
  name: string;
  note?: string;
}

/** Where events are to be sent; without kinds, all of them. */
export interface NewEndpoint {
  url: string;
  kinds?: readonly Open<EventType>[];
  description?: string;
}

/** What a field is worth, in points; positive raises the score. */
export interface ShapValue {
  readonly feature: string;
  readonly contribution: number;
}

/** Why, in words for the applicant; a rule has neither a field nor a contribution. */
export interface Reason {
  readonly code: string;
  readonly feature: string | null;
  readonly contribution: number | null;
  readonly text: string;
}

/** What the price is made of, in percent a year. */
export interface PriceParts {
  readonly expected_loss: number;
  readonly running_cost: number;
  readonly funding: number;
  readonly margin: number;
  readonly tax?: number;
}

/** The price by each definition, in percent a year. */
export interface Aprs {
  readonly simple: number;
  readonly nominal: number;
  readonly effective: number;
}

/** A loan that could be asked for, and what would be answered. */
export interface LoanOnOffer {
  readonly decision: Open<"APPROVED" | "REVIEW">;
  readonly amount: number;
  readonly term_days: number;
  readonly payment: number;
  readonly payments: number;
  readonly total: number;
  readonly apr: number;
  readonly default_probability: number;
}

/** Other loans than the one that was asked for, and is not approved. */
export interface CounterOffers {
  readonly approved: LoanOnOffer | null;
  readonly review: LoanOnOffer | null;
  readonly as_asked: readonly string[];
}

/** How the recommended loan came about. */
export interface Offer {
  readonly currency: string;
  readonly default_probability: number;
  readonly price: PriceParts;
  readonly fee: number;
  readonly expected_loss: number;
  readonly rules: readonly string[];
  readonly apr_definition: string;
  readonly aprs: Aprs | null;
  readonly capped_by: readonly string[];
  readonly counter_offers: CounterOffers | null;
}

/** One payment of a loan. */
export interface Payment {
  readonly due_in_days: number;
  readonly amount: number;
  readonly principal: number;
  readonly interest: number;
  readonly fee: number;
}

/** The payments of a loan of the recommended limit; every sum agrees to the smallest unit. */
export interface Schedule {
  readonly currency: string;
  readonly amount: number;
  readonly received: number;
  readonly fee: number;
  readonly tax: number;
  readonly interest: number;
  readonly total: number;
  readonly payments: readonly Payment[];
}

/** A score and what follows from it. */
export interface Decision {
  readonly score: number;
  readonly tier: string;
  readonly default_probability: number;
  readonly decision: Open<"APPROVED" | "REVIEW" | "DECLINED">;
  readonly recommended_limit: number;
  readonly recommended_term_days: number;
  /** Percent a year. */
  readonly recommended_apr: number;
}

/** The answer to an application. What was not asked for by `expand` is not there. */
export interface Score extends Decision {
  readonly request_id: string;
  readonly shap_values: readonly ShapValue[];
  readonly processing_ms: number;
  readonly base_score?: number;
  readonly reasons?: readonly Reason[];
  readonly model?: string;
  readonly policy?: string;
  readonly offer?: Offer;
  readonly schedule?: Schedule | null;
  readonly offers?: readonly LoanOnOffer[];
  /** Which product decided; not there where the policy has none. */
  readonly product?: string;
}

/** What an officer decided. */
export interface Review {
  readonly request_id: string;
  readonly decision: string;
  readonly reason: string;
  readonly name: string;
  readonly note: string;
  readonly reviewed_at: string;
  readonly given_decision: string;
  readonly overrides: boolean;
}

/** What became of a loan, as far as is known. */
export interface Outcome {
  readonly outcome: string;
  readonly date: string;
  readonly is_default: boolean;
  readonly disbursed_amount: number | null;
  readonly repaid_amount: number | null;
  readonly recorded_at: string;
}

/** A score as it is kept, with what was sent and what came of it. */
export interface StoredScore extends Score {
  readonly base_score: number;
  readonly model: string;
  readonly policy: string;
  readonly offer: Offer;
  readonly created_at: string;
  readonly mode: Open<"test" | "live">;
  readonly key_id: string;
  readonly application: ApplicationFields;
  readonly evidence?: Readonly<Record<string, unknown>> | null;
  readonly review?: Review | null;
  readonly outcome?: Outcome | null;
}

/** A score in a list. */
export interface ListedScore extends Decision {
  readonly request_id: string;
  readonly created_at: string;
}

/** What became of a report on a loan. */
export interface OutcomeResult {
  readonly request_id: string;
  /** docs/outcomes.md says what each means. */
  readonly result: Open<
    | "recorded"
    | "updated"
    | "corrected"
    | "unchanged"
    | "older"
    | "conflict"
    | "unknown_score"
    | "in_the_future"
    | "before_the_loan"
  >;
  readonly is_default?: boolean;
  /** What to do about it; only where it was refused. */
  readonly message?: string;
}

/** What became of an event of a loan. */
export interface LoanResult {
  readonly loan: string;
  /** docs/loans.md says what each means. */
  readonly result: Open<
    "recorded" | "corrected" | "unchanged" | "conflict" | "in_the_future" | "too_many"
  >;
  /** What to do about it, where it was refused. */
  readonly message?: string;
}

/** A field, its value, and what that is worth in points. */
export interface ExplainedValue {
  readonly feature: string;
  readonly value: number | string | null;
  readonly contribution: number;
}

/** A field that an applicant can change, from one value to another. */
export interface Change {
  readonly feature: string;
  readonly from: number | string;
  readonly to: number | string;
  readonly text: string;
}

/** A way to the target: what to change, and what the decision would then be. */
export interface Counterfactual extends Decision {
  readonly changes: readonly Change[];
  readonly cost: number;
  readonly optimal: boolean;
  readonly within_days: number;
}

/** What stands in the way where no change leads to the target. */
export interface Obstacle {
  readonly code: string;
  readonly rule: string | null;
  readonly features: readonly string[];
  readonly text: string;
}

/** Why an application is decided so, and what would change it. Nothing of it is stored. */
export interface Explanation extends Decision {
  readonly rules: readonly string[];
  readonly counter_offers: CounterOffers | null;
  readonly base_score: number;
  readonly shap_values: readonly ExplainedValue[];
  readonly reasons: readonly Reason[];
  readonly recourse: Open<"found" | "already_met" | "no_recourse">;
  readonly counterfactuals: readonly Counterfactual[];
  readonly binding: readonly Obstacle[];
  readonly notice: string | null;
  readonly language: string;
  readonly target: string;
  readonly model: string;
  readonly policy: string;
  readonly request_id: string;
  readonly processing_ms: number;
  readonly product?: string;
}

/** Whether Alama can serve. */
export interface Health {
  readonly status: Open<"ok" | "unavailable">;
  readonly version?: string;
  readonly model?: string;
  readonly reason?: string;
}

/** What the key of the client is; `expires_at` is null where it never ends. */
export interface OwnKey {
  readonly id: string;
  readonly lender: string;
  readonly currency: string;
  readonly mode: Open<"test" | "live">;
  readonly scopes: readonly string[];
  readonly created_at: string;
  readonly expires_at: string | null;
  /** Requests a second. */
  readonly rate_limit: number;
  /** Requests at once. */
  readonly burst: number;
}

/** Events that have not arrived yet. */
export interface Pending {
  readonly count: number;
  readonly next_attempt_at: string | null;
}

/** Where events are sent; `kinds` is empty where all are. */
export interface WebhookEndpoint {
  readonly id: string;
  readonly url: string;
  readonly kinds: readonly string[];
  readonly description: string;
  readonly enabled: boolean;
  readonly created_at: string;
  readonly failing_since: string | null;
  readonly disabled_at: string | null;
  readonly disabled_reason: string | null;
  readonly pending: Pending;
}

/** An endpoint that was just made. Its secret is never shown again: keep it. */
export interface NewWebhookEndpoint extends WebhookEndpoint {
  readonly secret: string;
}

/** A test event that is on its way. */
export interface TestSent {
  /** Its id, which comes as `webhook-id`. */
  readonly event: string;
}
