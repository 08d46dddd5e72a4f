// What an answer has to be like to be one of Alama. A captive portal answers 200 as well.

import type * as answers from "./answers.js";

/** Whether a value of JSON is a `T`. */
export type Check<T> = (value: unknown) => value is T;

/** A check for each member of `T`; what may be missing is `optional`. */
export type Shape<T> = {
  readonly [K in keyof T]-?: Check<
    Record<never, never> extends Pick<T, K> ? T[K] | undefined : T[K]
  >;
};

export const text: Check<string> = (value) => typeof value === "string";
export const number: Check<number> = (value) => typeof value === "number";
export const flag: Check<boolean> = (value) => typeof value === "boolean";
export const nothing: Check<undefined> = (value) => value === undefined;

const either =
  <A, B>(one: Check<A>, other: Check<B>): Check<A | B> =>
  (value): value is A | B =>
    one(value) || other(value);
export const nullable = <T>(check: Check<T>): Check<T | null> =>
  either(check, (value) => value === null);
export const optional = <T>(check: Check<T>): Check<T | undefined> => either(check, nothing);

export const list =
  <T>(check: Check<T>): Check<readonly T[]> =>
  (value): value is readonly T[] =>
    Array.isArray(value) && value.every((each) => check(each));

export const object =
  <T extends object>(shape: Shape<T>): Check<T> =>
  (value): value is T =>
    isObject(value) &&
    Object.entries<Check<unknown>>(shape).every(([name, check]) => check(value[name]));

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Read JSON; what is none is null, and no body undefined. */
export function parsed(body: string): unknown {
  try {
    return body === "" ? undefined : JSON.parse(body);
  } catch {
    return null;
  }
}

export const ShapValue: Shape<answers.ShapValue> = { feature: text, contribution: number };

export const Reason: Shape<answers.Reason> = {
  code: text,
  feature: nullable(text),
  contribution: nullable(number),
  text,
};

export const PriceParts: Shape<answers.PriceParts> = {
  expected_loss: number,
  running_cost: number,
  funding: number,
  margin: number,
  tax: optional(number),
};

export const Aprs: Shape<answers.Aprs> = { simple: number, nominal: number, effective: number };

export const LoanOnOffer: Shape<answers.LoanOnOffer> = {
  decision: text,
  amount: number,
  term_days: number,
  payment: number,
  payments: number,
  total: number,
  apr: number,
  default_probability: number,
};

export const CounterOffers: Shape<answers.CounterOffers> = {
  approved: nullable(object(LoanOnOffer)),
  review: nullable(object(LoanOnOffer)),
  as_asked: list(text),
};

export const Offer: Shape<answers.Offer> = {
  currency: text,
  default_probability: number,
  price: object(PriceParts),
  fee: number,
  expected_loss: number,
  rules: list(text),
  apr_definition: text,
  aprs: nullable(object(Aprs)),
  capped_by: list(text),
  counter_offers: nullable(object(CounterOffers)),
};

export const Payment: Shape<answers.Payment> = {
  due_in_days: number,
  amount: number,
  principal: number,
  interest: number,
  fee: number,
};

export const Schedule: Shape<answers.Schedule> = {
  currency: text,
  amount: number,
  received: number,
  fee: number,
  tax: number,
  interest: number,
  total: number,
  payments: list(object(Payment)),
};

const Decision: Shape<answers.Decision> = {
  score: number,
  tier: text,
  default_probability: number,
  decision: text,
  recommended_limit: number,
  recommended_term_days: number,
  recommended_apr: number,
};

export const Score: Shape<answers.Score> = {
  ...Decision,
  request_id: text,
  shap_values: list(object(ShapValue)),
  processing_ms: number,
  base_score: optional(number),
  reasons: optional(list(object(Reason))),
  model: optional(text),
  policy: optional(text),
  offer: optional(object(Offer)),
  schedule: optional(nullable(object(Schedule))),
  offers: optional(list(object(LoanOnOffer))),
  product: optional(text),
};

export const Review: Shape<answers.Review> = {
  request_id: text,
  decision: text,
  reason: text,
  name: text,
  note: text,
  reviewed_at: text,
  given_decision: text,
  overrides: flag,
};

export const Outcome: Shape<answers.Outcome> = {
  outcome: text,
  date: text,
  is_default: flag,
  disbursed_amount: nullable(number),
  repaid_amount: nullable(number),
  recorded_at: text,
};

export const StoredScore: Shape<answers.StoredScore> = {
  ...Score,
  base_score: number,
  model: text,
  policy: text,
  offer: object(Offer),
  created_at: text,
  mode: text,
  key_id: text,
  application: isObject,
  evidence: optional(nullable(isObject)),
  review: optional(nullable(object(Review))),
  outcome: optional(nullable(object(Outcome))),
};

export const ListedScore: Shape<answers.ListedScore> = {
  ...Decision,
  request_id: text,
  created_at: text,
};

export const OutcomeResult: Shape<answers.OutcomeResult> = {
  request_id: text,
  result: text,
  is_default: optional(flag),
  message: optional(text),
};

export const LoanResult: Shape<answers.LoanResult> = {
  loan: text,
  result: text,
  message: optional(text),
};

export const ExplainedValue: Shape<answers.ExplainedValue> = {
  feature: text,
  value: nullable(either(number, text)),
  contribution: number,
};

export const Change: Shape<answers.Change> = {
  feature: text,
  from: either(number, text),
  to: either(number, text),
  text,
};

export const Counterfactual: Shape<answers.Counterfactual> = {
  ...Decision,
  changes: list(object(Change)),
  cost: number,
  optimal: flag,
  within_days: number,
};

export const Obstacle: Shape<answers.Obstacle> = {
  code: text,
  rule: nullable(text),
  features: list(text),
  text,
};

export const Explanation: Shape<answers.Explanation> = {
  ...Decision,
  rules: list(text),
  counter_offers: nullable(object(CounterOffers)),
  base_score: number,
  shap_values: list(object(ExplainedValue)),
  reasons: list(object(Reason)),
  recourse: text,
  counterfactuals: list(object(Counterfactual)),
  binding: list(object(Obstacle)),
  notice: nullable(text),
  language: text,
  target: text,
  model: text,
  policy: text,
  request_id: text,
  processing_ms: number,
  product: optional(text),
};

export const Health: Shape<answers.Health> = {
  status: text,
  version: optional(text),
  model: optional(text),
  reason: optional(text),
};

export const OwnKey: Shape<answers.OwnKey> = {
  id: text,
  lender: text,
  currency: text,
  mode: text,
  scopes: list(text),
  created_at: text,
  expires_at: nullable(text),
  rate_limit: number,
  burst: number,
};

export const Pending: Shape<answers.Pending> = { count: number, next_attempt_at: nullable(text) };

export const WebhookEndpoint: Shape<answers.WebhookEndpoint> = {
  id: text,
  url: text,
  kinds: list(text),
  description: text,
  enabled: flag,
  created_at: text,
  failing_since: nullable(text),
  disabled_at: nullable(text),
  disabled_reason: nullable(text),
  pending: object(Pending),
};

export const NewWebhookEndpoint: Shape<answers.NewWebhookEndpoint> = {
  ...WebhookEndpoint,
  secret: text,
};

export const TestSent: Shape<answers.TestSent> = { event: text };
