// A fake Alama for your tests: in this process, without a server, and without waiting.
//
//     const fake = new FakeAlama()
//       .answer({ decision: "DECLINED", score: 480 }, (a) => Number(a.monthly_inflow) < 5_000)
//       .fail(TooManyRequests, { times: 2 });
//     await myLoanSystem(fake.client());
//     assert.equal(fake.scores.size, 1);
//
// It answers in the shapes of Alama, and keeps idempotency keys as Alama does. It judges nobody.

import type {
  ApplicationFields,
  ListedScore,
  NewLoanEvent,
  NewOutcome,
  NewReview,
  NewWebhookEndpoint,
  OwnKey,
  Score,
  StoredScore,
} from "./answers.js";
import { Alama, type AlamaOptions } from "./client.js";
import { Problem, type ConnectionFailed, type TimedOut } from "./errors.js";
import {
  AlreadyReviewed,
  IdempotencyKeyReused,
  NotFound,
  UnknownScore,
  UnknownWebhookEndpoint,
  type ProblemClass,
} from "./problems.js";
import { signWebhook } from "./webhooks.js";

const BASE_URL = "https://alama.invalid";
/** When everything happens, a second after the other. */
const NOON_MS = Date.UTC(2026, 10, 15, 12);
const MODEL = `sha256:${"0".repeat(64)}`;
const OWN_KEY: OwnKey = {
  id: "key_fake",
  lender: "fake",
  currency: "KES",
  mode: "test",
  scopes: ["scores:read", "scores:write"],
  created_at: "2026-01-01T00:00:00Z",
  expires_at: null,
  rate_limit: 1_000,
  burst: 2_000,
};
const OFFER = {
  currency: "KES",
  default_probability: 0.025,
  price: { expected_loss: 15, running_cost: 10, funding: 8, margin: 3.5 },
  fee: 0,
  expected_loss: 250,
  rules: [],
  apr_definition: "simple",
  aprs: { simple: 36.5, nominal: 36.5, effective: 42.57 },
  capped_by: [],
  counter_offers: null,
};
const NOBODY = `req_${"0".repeat(28)}`;

/** A request as it came; a retry is one more. The names of headers are in lower case. */
export interface FakeRequest {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

type Condition = (application: ApplicationFields) => boolean;
type Failure = ProblemClass | typeof ConnectionFailed | typeof TimedOut;
type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** Alama as far as its clients see it, kept in memory. */
export class FakeAlama {
  /** Signs webhooks. */
  readonly secret = `whsec_${btoa("a secret of 32 bytes, all fake ..")}`;
  /** All that came, in order. */
  readonly requests: FakeRequest[] = [];
  /** What was stored, by `request_id`. */
  readonly scores = new Map<string, Mutable<StoredScore>>();
  readonly outcomes: NewOutcome[] = [];
  /** Events, in the order told. */
  readonly loans: NewLoanEvent[] = [];
  readonly endpoints = new Map<string, NewWebhookEndpoint>();
  /** How long the clients would have waited: for them the time has passed. */
  waitedMs = 0;
  readonly #rules: { when: Condition; members: object }[] = [];
  readonly #failures: { error: Failure; retryAfter: number }[] = [];
  readonly #replays = new Map<string, { body: string; given: Score }>();
  #count = 0;

  // --------------------------------------------------------------------------- what you say

  /** Give a client that speaks with this, and never waits. */
  client(options: AlamaOptions = {}): Alama {
    const clock = {
      now: () => this.waitedMs,
      sleep: async (ms: number) => {
        this.waitedMs += ms;
      },
    };
    const fetch = async (url: string, init: RequestInit) => this.#fetch(url, init);
    return new Alama(BASE_URL, { key: "alama_test_fake", fetch, clock, ...options });
  }

  /** Give applications these members of a score; what is said last is looked at first. */
  answer(members: Partial<Score> & Record<string, unknown>, when: Condition = () => true): this {
    this.#rules.unshift({ when, members });
    return this;
  }

  /** Let the next requests fail: with a problem, or by `ConnectionFailed` or `TimedOut`. */
  fail(error: Failure, { times = 1, retryAfter = 0 } = {}): this {
    for (let n = 0; n < times; n++) this.#failures.push({ error, retryAfter });
    return this;
  }

  /** Give the headers and the body of an event, signed with `secret`. */
  async webhook(
    type: string,
    data: object,
  ): Promise<{ headers: Record<string, string>; body: string }> {
    const id = this.#newId("evt_");
    const body = JSON.stringify({
      type,
      timestamp: this.#moment(),
      data: { mode: "test", ...data },
    });
    return { headers: await signWebhook(body, id, this.secret), body };
  }

  // --------------------------------------------------------------------------- what it does

  #fetch(url: string, init: RequestInit): Response {
    const { pathname: path, searchParams } = new URL(url);
    const request = {
      method: init.method ?? "GET",
      path,
      query: Object.fromEntries(searchParams),
      headers: Object.fromEntries(new Headers(init.headers)),
      body: String(init.body ?? ""),
    };
    this.requests.push(request);
    try {
      this.#failAsTold();
      const [status, said] = this.#route(request);
      return new Response(said === undefined ? null : JSON.stringify(said), { status });
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      const { status, code, detail, requestId: request_id, retryAfter } = error;
      const headers = retryAfter === undefined ? {} : { "retry-after": String(retryAfter) };
      return new Response(JSON.stringify({ code, detail, request_id }), { status, headers });
    }
  }

  #failAsTold(): void {
    const failure = this.#failures.shift();
    if (!failure) return;
    const { error, retryAfter } = failure;
    if ("code" in error) throw refusal(error, retryAfter);
    throw new error("the fake was told so");
  }

  #route(request: FakeRequest): [status: number, said?: unknown] {
    const [, , noun = "", id = "", more = ""] = request.path.split("/").map(decodeURIComponent);
    const json = () => JSON.parse(request.body);
    switch (`${request.method} ${noun}${id && "/id"}${more && `/${more}`}`) {
      case "POST score":
        return [200, this.#score(request)];
      case "POST explain":
        return [200, this.#explain(json())];
      case "GET health":
        return [200, { status: "ok", version: "fake", model: MODEL }];
      case "GET key":
        return [200, OWN_KEY];
      case "GET scores":
        return [200, this.#page(request.query)];
      case "GET scores/id":
        return [200, this.#stored(id)];
      case "POST scores/id/review":
        return [201, this.#review(id, json())];
      case "POST outcomes":
        return [200, this.#record(json().outcomes)];
      case "POST loans":
        return [200, this.#recordLoans(json().loans)];
      case "POST webhook_endpoints":
        return [201, this.#endpoint(json())];
      case "GET webhook_endpoints":
        return [
          200,
          { data: [...this.endpoints.values()].map(({ secret: _, ...shown }) => shown) },
        ];
      case "DELETE webhook_endpoints/id":
        if (!this.endpoints.delete(id)) throw refusal(UnknownWebhookEndpoint);
        return [204];
      case "POST webhook_endpoints/id/test":
        if (!this.endpoints.has(id)) throw refusal(UnknownWebhookEndpoint);
        return [202, { event: this.#newId("evt_") }];
      default:
        throw refusal(NotFound);
    }
  }

  #score({ headers, body }: FakeRequest): Score {
    const key = headers["idempotency-key"] ?? "";
    const replay = this.#replays.get(key);
    if (replay) {
      if (replay.body !== body) throw refusal(IdempotencyKeyReused);
      return replay.given;
    }
    const application = JSON.parse(body);
    const given = {
      ...this.#judge(application),
      request_id: this.#newId("req_"),
      processing_ms: 1,
    };
    const more = {
      base_score: 640,
      model: MODEL,
      policy: MODEL,
      offer: OFFER,
      created_at: this.#moment(),
      mode: "test",
      key_id: "key_fake",
      application,
      review: null,
      outcome: null,
    };
    this.scores.set(given.request_id, { ...more, ...given });
    this.#replays.set(key, { body, given });
    return given;
  }

  #judge(application: ApplicationFields) {
    return {
      score: 700,
      tier: "A",
      default_probability: 0.025,
      decision: "APPROVED",
      recommended_limit: 10_000,
      recommended_term_days: 60,
      recommended_apr: 36.5,
      shap_values: [],
      ...this.#rules.find(({ when }) => when(application))?.members,
    };
  }

  #explain(application: ApplicationFields) {
    return {
      rules: [],
      counter_offers: null,
      base_score: 640,
      reasons: [],
      recourse: "already_met",
      counterfactuals: [],
      binding: [],
      notice: null,
      language: "en",
      target: "APPROVED",
      model: MODEL,
      policy: MODEL,
      request_id: this.#newId("req_"),
      processing_ms: 1,
      ...this.#judge(application),
    };
  }

  #page({ cursor = "~", limit = "20", waiting }: FakeRequest["query"]) {
    const newest = [...this.scores.values()].reverse();
    const older = newest
      .filter(({ request_id }) => request_id < cursor)
      .filter(({ decision, review }) => waiting !== "true" || (decision === "REVIEW" && !review));
    const data: ListedScore[] = older.slice(0, Number(limit));
    return {
      data,
      next_cursor: older.length > data.length ? (data.at(-1)?.request_id ?? null) : null,
    };
  }

  #stored(request_id: string): Mutable<StoredScore> {
    const score = this.scores.get(request_id);
    if (!score) throw refusal(UnknownScore);
    return score;
  }

  #review(request_id: string, said: NewReview) {
    const score = this.#stored(request_id);
    const given_decision = score.decision;
    const overrides = said.decision !== given_decision && given_decision !== "REVIEW";
    const reviewed_at = this.#moment(0);
    const review = { note: "", ...said, request_id, reviewed_at, given_decision, overrides };
    if (score.review && JSON.stringify(score.review) !== JSON.stringify(review)) {
      throw refusal(AlreadyReviewed);
    }
    return (score.review = review);
  }

  #record(outcomes: readonly NewOutcome[]) {
    this.outcomes.push(...outcomes);
    const results = outcomes.map(({ request_id, outcome }) => ({
      request_id,
      result: this.scores.has(request_id) ? "recorded" : "unknown_score",
      is_default: outcome !== "repaid",
    }));
    return { results };
  }

  #recordLoans(events: readonly NewLoanEvent[]) {
    const known = new Set(this.loans.map((one) => JSON.stringify(one)));
    this.loans.push(...events);
    const results = events.map((one) => ({
      loan: one.loan,
      result: known.has(JSON.stringify(one)) ? "unchanged" : "recorded",
    }));
    return { results };
  }

  #endpoint(said: { url: string; kinds?: string[]; description?: string }): NewWebhookEndpoint {
    const made = {
      kinds: [],
      description: "",
      ...said,
      id: this.#newId("we_"),
      enabled: true,
      created_at: this.#moment(),
      failing_since: null,
      disabled_at: null,
      disabled_reason: null,
      pending: { count: 0, next_attempt_at: null },
      secret: this.secret,
    };
    this.endpoints.set(made.id, made);
    return made;
  }

  /** An id that sorts after those before. */
  #newId(prefix: string): string {
    this.#count += 1;
    return prefix + this.#count.toString(16).padStart(28, "0");
  }

  /** A time that comes after those before. */
  #moment(seconds = this.#count): string {
    return new Date(NOON_MS + seconds * 1_000).toISOString();
  }
}

function refusal(kind: ProblemClass, retryAfter?: number): Problem {
  const said = { code: kind.code, detail: "The fake was told so.", request_id: NOBODY };
  return new kind(kind.status, said, undefined, retryAfter);
}
