// `Alama`, the client.

import type {
  Application,
  Expand,
  Explanation,
  Health,
  Language,
  ListedScore,
  LoanResult,
  NewEndpoint,
  NewLoanEvent,
  NewOutcome,
  NewReview,
  NewWebhookEndpoint,
  OutcomeResult,
  OwnKey,
  Review,
  Score,
  StoredScore,
  TestSent,
  WebhookEndpoint,
} from "./answers.js";
import { webCrypto } from "./crypto.js";
import { AlamaError, ConnectionFailed, InvalidArgument, Problem, TimedOut } from "./errors.js";
import * as problems from "./problems.js";
import { CLOCK, Pace, seconds, Tries, type Clock, type Limits } from "./retries.js";
import * as shapes from "./shapes.js";
import { list, nothing, nullable, object, text, type Check } from "./shapes.js";

const VERSION = "0.1.0";
const LIMITS: Limits = { timeoutMs: 10_000, totalTimeoutMs: 60_000, retries: 4 };
const AT_ONCE = 8;
const PAGE_SIZE_MAX = 100;

/** How a client behaves. */
export interface AlamaOptions {
  /** The API key. It is a secret: none belongs into a page of the internet. */
  key?: string | undefined;
  /** Of one attempt, from its start to the last byte of its answer: 10 seconds. */
  timeoutMs?: number | undefined;
  /** Of a call with all its retries and waits: 60 seconds. */
  totalTimeoutMs?: number | undefined;
  /** Attempts after the first: 4. */
  retries?: number | undefined;
  /** Gives the trace context of the moment (W3C), which is then passed on. */
  traceparent?: (() => string | undefined) | undefined;
  /** Another `fetch`, such as one with a proxy or certificates. */
  fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
  clock?: Clock | undefined;
}

/** What every call takes. */
export interface CallOptions {
  /** Ends the call, its retries and its waits; it then throws the reason of the signal. */
  signal?: AbortSignal | undefined;
}

export interface ScoreOptions extends CallOptions {
  /** What to add to the answer. */
  expand?: readonly Expand[] | undefined;
  /** Of the reasons. */
  language?: Language | undefined;
  /**
   * A key of your own, such as the id of the loan: then an application is scored once though your
   * program is started again, for 72 hours.
   */
  idempotencyKey?: string | undefined;
}

export interface ScoreManyOptions<A> extends Omit<ScoreOptions, "idempotencyKey"> {
  /** False: rows come as they are done. */
  inOrder?: boolean | undefined;
  /** An idempotency key of your own for each, so that a run that was broken off can be done again. */
  keyOf?: ((application: A) => string) | undefined;
  /** How many requests are on their way: 8. */
  atOnce?: number | undefined;
}

export interface ExplainOptions extends CallOptions {
  /** `APPROVED`, a tier or a score. */
  target?: string | undefined;
  /** How many ways to the target are wanted, at most: 3. */
  ways?: number | undefined;
  /** @deprecated The old name of `ways`. */
  limit?: number | undefined;
  /** Fields that must stay as they are. */
  locked?: readonly string[] | undefined;
  language?: Language | undefined;
}

export interface ListOptions extends CallOptions {
  /** Only those that wait for a person. */
  waiting?: boolean | undefined;
  /** Of what is asked for at once: 100. */
  pageSize?: number | undefined;
}

/** One row of `scoreMany`: its score, or what kept it from having one. */
export type Scored<A = Application> = { readonly index: number; readonly application: A } & (
  | { readonly score: Score; readonly error?: never }
  | { readonly score?: never; readonly error: AlamaError }
);

/** One thing to ask. Its bytes and its key are the same however often it is sent. */
interface Call<T> {
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: string;
  /** Whether what came is what was asked for. */
  readonly isAnswer: Check<T>;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: string;
  readonly idempotencyKey?: string;
  /** False: it does harm to send it again when nobody knows what became of it. */
  readonly repeatable?: false;
  /** A status that has an answer as well as 2xx. */
  readonly answersToo?: number;
}

/**
 * A client of Alama.
 *
 *     const alama = new Alama("https://scores.example.com", { key });
 *     const score = await alama.score(application);
 */
export class Alama {
  readonly #baseUrl: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #limits: Limits;
  readonly #traceparent: () => string | undefined;
  readonly #fetch: NonNullable<AlamaOptions["fetch"]>;
  readonly #clock: Clock;

  constructor(baseUrl: string, options: AlamaOptions = {}) {
    if (!isAddress(baseUrl)) {
      throw new InvalidArgument("the address of Alama is https:// or http:// and the name of a host");
    }
    this.#baseUrl = baseUrl.replace(/\/+$/, "");
    this.#headers = {
      accept: "application/json",
      ...("process" in globalThis && { "user-agent": `alama-client-js/${VERSION}` }), // browsers have their own
      ...(options.key !== undefined && {
        authorization: `Bearer ${header("API key", options.key)}`,
      }),
    };
    this.#limits = {
      timeoutMs: options.timeoutMs ?? LIMITS.timeoutMs,
      totalTimeoutMs: options.totalTimeoutMs ?? LIMITS.totalTimeoutMs,
      retries: options.retries ?? LIMITS.retries,
    };
    this.#traceparent = options.traceparent ?? (() => undefined);
    this.#fetch = options.fetch ?? ((url, init) => fetch(url, init));
    this.#clock = options.clock ?? CLOCK;
  }

  /** Score an application, once, however often it has to be sent. */
  async score(application: Application, options: ScoreOptions = {}): Promise<Score> {
    return this.#score(application, options);
  }

  /**
   * Score many, as fast as the key may: each once, in order or as they come.
   *
   * `applications` are read as they are needed, so they may be a file of millions. A row that
   * fails is told in its place, and harms no other.
   */
  async *scoreMany<A extends Application>(
    applications: Iterable<A> | AsyncIterable<A>,
    options: ScoreManyOptions<A> = {},
  ): AsyncGenerator<Scored<A>, void, undefined> {
    const { expand, language, keyOf, inOrder = true, atOnce = AT_ONCE, signal } = options;
    const pace = new Pace(this.#clock);
    const ended = new AbortController();
    const end = () => ended.abort(signal?.reason);
    const pending = new Map<number, Promise<Scored<A>>>();

    const one = async (index: number, application: A): Promise<Scored<A>> => {
      const asked = {
        expand,
        language,
        idempotencyKey: keyOf && (keyOf(application) ?? ""), // none is no leave to make one
        signal: ended.signal,
      };
      try {
        return { index, application, score: await this.#score(application, asked, pace) };
      } catch (error) {
        if (error instanceof AlamaError) return { index, application, error };
        throw error;
      }
    };
    const next = async (): Promise<Scored<A>> => {
      const rows = inOrder ? [...pending.values()].slice(0, 1) : pending.values();
      const row = await Promise.race(rows);
      pending.delete(row.index);
      return row;
    };

    signal?.throwIfAborted();
    signal?.addEventListener("abort", end);
    try {
      let index = 0;
      for await (const application of applications) {
        const row = one(index, application);
        row.catch(() => undefined); // whoever waits for it is told; nobody may be
        pending.set(index++, row);
        while (pending.size >= atOnce) yield await next();
      }
      while (pending.size > 0) yield await next();
    } finally {
      signal?.removeEventListener("abort", end);
      ended.abort(); // what is on its way when the caller leaves is not waited for
      await Promise.allSettled(pending.values());
    }
  }

  /** Say why an application is decided so, and what would lead to the target. Stores nothing. */
  async explain(application: Application, options: ExplainOptions = {}): Promise<Explanation> {
    const { target, limit, ways = limit, locked, language, signal } = options;
    const query = { target, ways, locked: locked?.join(), language };
    return this.#ask(
      {
        method: "POST",
        path: "/v1/explain",
        query,
        body: json(application),
        isAnswer: object(shapes.Explanation),
      },
      signal,
    );
  }

  /** Say whether Alama can serve; needs no key. */
  async health(options: CallOptions = {}): Promise<Health> {
    return this.#ask(
      { method: "GET", path: "/v1/health", isAnswer: object(shapes.Health), answersToo: 503 },
      options.signal,
    );
  }

  /** Say what the key is that this client has; never the key itself. */
  async key(options: CallOptions = {}): Promise<OwnKey> {
    const isAnswer = object(shapes.OwnKey);
    return this.#ask({ method: "GET", path: "/v1/key", isAnswer }, options.signal);
  }

  /** Read a score back, with what was sent and what came of it. */
  async getScore(request_id: string, options: CallOptions = {}): Promise<StoredScore> {
    const path = `/v1/scores/${encodeURIComponent(request_id)}`;
    return this.#ask({ method: "GET", path, isAnswer: object(shapes.StoredScore) }, options.signal);
  }

  /** Give all scores, the newest first, page by page; or those that wait for a person. */
  async *listScores(options: ListOptions = {}): AsyncGenerator<ListedScore, void, undefined> {
    const isAnswer = object<{ data: readonly ListedScore[]; next_cursor: string | null }>({
      data: list(object(shapes.ListedScore)),
      next_cursor: nullable(text),
    });
    const { pageSize: limit = PAGE_SIZE_MAX, waiting, signal } = options;
    let cursor: string | undefined;
    do {
      const query = { limit, cursor, waiting: waiting ? "true" : undefined };
      const page = await this.#ask({ method: "GET", path: "/v1/scores", query, isAnswer }, signal);
      yield* page.data;
      cursor = page.next_cursor ?? undefined;
    } while (cursor !== undefined);
  }

  /** Say what became of a loan. The same may be said twice, late and in any order. */
  async recordOutcome(outcome: NewOutcome, options: CallOptions = {}): Promise<OutcomeResult> {
    const [result] = await this.recordOutcomes([outcome], options);
    return result as OutcomeResult;
  }

  /** Say what became of up to 1,000 loans; each gets a result of its own, in order. */
  async recordOutcomes(
    outcomes: readonly NewOutcome[],
    options: CallOptions = {},
  ): Promise<readonly OutcomeResult[]> {
    return this.#tell("outcomes", outcomes, object(shapes.OutcomeResult), options);
  }

  /**
   * Say what was lent and paid back, up to 1,000 events; each gets a result of its own, in order.
   * The same may be said twice, late and in any order.
   */
  async recordLoans(
    events: readonly NewLoanEvent[],
    options: CallOptions = {},
  ): Promise<readonly LoanResult[]> {
    return this.#tell("loans", events, object(shapes.LoanResult), options);
  }

  /** Tell a list, by the name of its path, each of which gets a result. */
  async #tell<Result>(
    name: string,
    told: readonly object[],
    isResult: Check<Result>,
    options: CallOptions,
  ): Promise<readonly Result[]> {
    const areResults = list(isResult);
    const isAnswer = object<{ results: readonly Result[] }>({
      results: (said): said is readonly Result[] =>
        areResults(said) && said.length === told.length,
    });
    const call = {
      method: "POST",
      path: `/v1/${name}`,
      body: json({ [name]: told }),
      isAnswer,
    } as const;
    return (await this.#ask(call, options.signal)).results;
  }

  /** Keep what an officer decided on a score. The first review stands. */
  async review(request_id: string, review: NewReview, options: CallOptions = {}): Promise<Review> {
    const path = `/v1/scores/${encodeURIComponent(request_id)}/review`;
    return this.#ask(
      { method: "POST", path, body: json(review), isAnswer: object(shapes.Review) },
      options.signal,
    );
  }

  /**
   * Have events sent to a URL. Keep the secret.
   *
   * Not sent again when its answer is lost: look in `listEndpoints`, and delete an endpoint whose
   * secret nobody has.
   */
  async makeEndpoint(
    endpoint: NewEndpoint,
    options: CallOptions = {},
  ): Promise<NewWebhookEndpoint> {
    return this.#ask(
      {
        method: "POST",
        path: "/v1/webhook_endpoints",
        body: json(endpoint),
        isAnswer: object(shapes.NewWebhookEndpoint),
        repeatable: false,
      },
      options.signal,
    );
  }

  /** Give all endpoints, without their secrets. */
  async listEndpoints(options: CallOptions = {}): Promise<readonly WebhookEndpoint[]> {
    const isAnswer = object<{ data: readonly WebhookEndpoint[] }>({
      data: list(object(shapes.WebhookEndpoint)),
    });
    const call = { method: "GET", path: "/v1/webhook_endpoints", isAnswer } as const;
    return (await this.#ask(call, options.signal)).data;
  }

  /** Send nothing more to an endpoint. */
  async deleteEndpoint(id: string, options: CallOptions = {}): Promise<void> {
    const path = `/v1/webhook_endpoints/${encodeURIComponent(id)}`;
    await this.#ask({ method: "DELETE", path, isAnswer: nothing }, options.signal);
  }

  /** Have an event of the type `webhook.test` sent to an endpoint, whatever kinds it wants. */
  async testEndpoint(id: string, options: CallOptions = {}): Promise<TestSent> {
    const path = `/v1/webhook_endpoints/${encodeURIComponent(id)}/test`;
    return this.#ask({ method: "POST", path, isAnswer: object(shapes.TestSent) }, options.signal);
  }

  async #score(application: Application, options: ScoreOptions, pace?: Pace): Promise<Score> {
    const { expand, language, signal } = options;
    const body = json(application); // before anything is waited for: the caller may use it again
    const idempotencyKey = options.idempotencyKey ?? (await webCrypto()).randomUUID();
    return this.#ask(
      {
        method: "POST",
        path: "/v1/score",
        query: { expand: expand?.join(), language },
        body,
        idempotencyKey,
        isAnswer: object(shapes.Score),
      },
      signal,
      pace,
    );
  }

  /** Send a call until it has its answer, or until the last problem with it is not to be helped. */
  async #ask<T>(call: Call<T>, signal: AbortSignal | undefined, pace?: Pace): Promise<T> {
    const [url, init] = this.#written(call);
    await this.#awaitTurn(pace, signal);
    const tries = new Tries(this.#limits, this.#clock, call.repeatable ?? true);
    for (;;) {
      try {
        signal?.throwIfAborted();
        const reply = await this.#send(url, init, tries.timeoutMs(), signal, pace);
        return read(call, reply);
      } catch (error) {
        await this.#clock.sleep(tries.waitMs(error, pace), signal);
        await this.#awaitTurn(pace, signal);
      }
    }
  }

  #written(call: Call<unknown>): [string, RequestInit] {
    const asked = Object.entries(call.query ?? {}).filter(
      ([, value]) => value !== undefined && value !== "",
    );
    const query = new URLSearchParams(
      asked.map(([name, value]) => [name, String(value)]),
    ).toString();
    const headers = { ...this.#headers };
    if (call.body !== undefined) headers["content-type"] = "application/json";
    if (call.idempotencyKey !== undefined) {
      headers["idempotency-key"] = header("idempotency key", call.idempotencyKey);
    }
    const traceparent = this.#traceparent();
    if (traceparent) headers["traceparent"] = header("traceparent", traceparent);
    const init = {
      method: call.method,
      headers,
      redirect: "manual",
      body: call.body ?? null,
    } as const;
    return [`${this.#baseUrl}${call.path}${query && `?${query}`}`, init];
  }

  async #awaitTurn(pace: Pace | undefined, signal: AbortSignal | undefined): Promise<void> {
    if (!pace) return;
    for (let waitMs = pace.takeTurn(); waitMs > 0; waitMs = pace.closedMs()) {
      await this.#clock.sleep(waitMs, signal);
    }
  }

  /** One attempt, from its start to the last byte of its answer. */
  async #send(
    url: string,
    init: RequestInit,
    timeoutMs: number,
    signal: AbortSignal | undefined,
    pace: Pace | undefined,
  ): Promise<Reply> {
    const ended = new AbortController();
    const end = () => ended.abort();
    const timer = setTimeout(end, timeoutMs);
    signal?.addEventListener("abort", end);
    let reply: Reply | undefined;
    try {
      const response = await this.#fetch(url, { ...init, signal: ended.signal });
      reply = { status: response.status, headers: response.headers, body: await response.text() };
      return reply;
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof AlamaError) throw error;
      if (ended.signal.aborted) throw new TimedOut("no answer in time", { cause: error });
      throw new ConnectionFailed(reasonOf(error), {
        cause: error,
        wasSent: !NEVER_SENT.has(codeOf(error)),
      });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      pace?.heard(reply?.status, reply?.headers);
    }
  }
}

interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

/** Give what was asked for, or throw what came instead. */
function read<T>(call: Call<T>, { status, headers, body }: Reply): T {
  const said = shapes.parsed(body);
  const isGood = status >= 200 && status <= 299;
  if ((isGood || status === call.answersToo) && call.isAnswer(said)) return said;
  if (isGood) throw new ConnectionFailed("what came is no answer of Alama");
  const code = shapes.isObject(said) ? said["code"] : undefined;
  const kind = PROBLEMS.get(code) ?? Problem;
  throw new kind(
    status,
    said,
    headers.get("request-id") ?? undefined,
    seconds(headers.get("retry-after")),
  );
}

const PROBLEMS = new Map<unknown, typeof Problem>(
  Object.values(problems).map((kind) => [kind.code, kind]),
);

/** Give a text as the bytes of a header, or throw; never with the text. */
function header(name: string, text: string): string {
  if (!text.trim() || /\p{C}/u.test(text)) {
    throw new InvalidArgument(`the ${name} is empty, or has characters that cannot be printed`);
  }
  return String.fromCharCode(...new TextEncoder().encode(text));
}

/** Write JSON; a number that it does not have is refused, and not sent as null. */
function json(said: object): string {
  const checked = (name: string, value: unknown): unknown => {
    if (typeof value === "bigint" || (typeof value === "number" && !Number.isFinite(value))) {
      throw new InvalidArgument(`${name} is no number that JSON has, such as NaN`);
    }
    return value;
  };
  try {
    return JSON.stringify(said, checked);
  } catch (error) {
    if (error instanceof AlamaError) throw error;
    throw new InvalidArgument("what is to be sent cannot be written as JSON", { cause: error });
  }
}

function isAddress(text: string): boolean {
  try {
    return /^https?:\/\//.test(text) && new URL(text).host !== "";
  } catch {
    return false;
  }
}

/** What Node says where no connection was made; browsers do not say. */
const NEVER_SENT = new Set<unknown>([
  "ECONNREFUSED",
  "EAI_AGAIN",
  "ENOTFOUND",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

function codeOf(error: unknown): unknown {
  const cause = error instanceof Error ? error.cause : undefined;
  return shapes.isObject(cause) ? cause["code"] : undefined;
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  return (cause instanceof Error && cause.message) || "no answer";
}
