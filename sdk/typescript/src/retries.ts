// When to send again, and how fast many requests may go. Times are in milliseconds.

import { AlamaError, ConnectionFailed } from "./errors.js";
import { Busy, IdempotencyInFlight } from "./problems.js";

const TOO_MANY_REQUESTS = 429;
/** Nobody knows what was done: what does no harm when it is done twice may be sent again. */
const UNKNOWN = new Set<number | undefined>([408, 500, 502, 503, 504]);

const FIRST_WAIT_MS = 500;
const WAIT_MS_MAX = 8_000;
const ANSWERED_WAIT_MS_MIN = 1_000;
/** Waits are longer by chance, so that those who were refused together do not come together. */
const JITTER_MAX = 0.25;
/** A timer that is set to more rings at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** Tells the time, and lets it pass; for tests that do not want to wait. */
export interface Clock {
  /** Milliseconds since some moment, never going back. */
  now(): number;
  /** Wait; end with the reason of the signal where that comes first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const CLOCK: Clock = {
  now: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((done, fail) => {
      signal?.throwIfAborted();
      const stop = () => {
        clearTimeout(timer);
        fail(signal?.reason);
      };
      const timer = setTimeout(
        () => {
          signal?.removeEventListener("abort", stop);
          done();
        },
        Math.min(ms, TIMER_MS_MAX),
      );
      signal?.addEventListener("abort", stop, { once: true });
    }),
};

export interface Limits {
  readonly timeoutMs: number;
  readonly totalTimeoutMs: number;
  readonly retries: number;
}

/** The attempts of one call: how long each may take, and when the next may begin. */
export class Tries {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #deadline: number;
  /** Whether it does no harm to send it again when nobody knows what became of it. */
  readonly #repeatable: boolean;
  #left: number;
  #backoffMs = FIRST_WAIT_MS;

  constructor(limits: Limits, clock: Clock, repeatable: boolean) {
    this.#clock = clock;
    this.#timeoutMs = limits.timeoutMs;
    this.#deadline = clock.now() + limits.totalTimeoutMs;
    this.#repeatable = repeatable;
    this.#left = limits.retries;
  }

  /** How long the next attempt may take. */
  timeoutMs(): number {
    const leftMs = this.#deadline - this.#clock.now();
    return Math.max(1, Math.min(this.#timeoutMs, leftMs, TIMER_MS_MAX));
  }

  /** How long to wait before the next attempt; throws the error where there is to be none. */
  waitMs(error: unknown, pace?: Pace): number {
    if (!(error instanceof AlamaError) || !this.#isWorthAnother(error)) throw error;
    const isFree = pace !== undefined && error.status === TOO_MANY_REQUESTS;
    if (!isFree && this.#left-- <= 0) throw error;
    const leastMs = error.status === undefined ? 0 : ANSWERED_WAIT_MS_MIN;
    const toldMs = error.retryAfter === undefined ? undefined : error.retryAfter * 1_000;
    const waitMs =
      (toldMs ?? Math.max(this.#backoffMs, leastMs)) * (1 + JITTER_MAX * Math.random());
    this.#backoffMs = Math.min(2 * this.#backoffMs, WAIT_MS_MAX);
    if (this.#clock.now() + waitMs >= this.#deadline) throw error;
    return waitMs;
  }

  #isWorthAnother(error: AlamaError): boolean {
    if (error instanceof ConnectionFailed) return this.#repeatable || !error.wasSent;
    return isRefused(error) || (this.#repeatable && UNKNOWN.has(error.status));
  }
}

/** Whether nothing was done, so that everything may be sent again. */
function isRefused(error: AlamaError): boolean {
  const isKnown = error instanceof Busy || error instanceof IdempotencyInFlight;
  return isKnown || error.status === TOO_MANY_REQUESTS;
}

/** How fast many requests may go: as many as `RateLimit` says are left, then one by one. */
export class Pace {
  readonly #clock: Clock;
  #left = 0;
  #leftAt = 0;
  #leftMax = 0;
  /** How many come back in a millisecond; none while nothing is known. */
  #perMs = 0;
  #onTheirWay = 0;
  #closedUntil = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Count a request that is about to go; how long it has to wait before it does. */
  takeTurn(): number {
    this.#onTheirWay += 1;
    if (!this.#perMs) return this.closedMs();
    const now = this.#clock.now();
    const comeBack = (now - this.#leftAt) * this.#perMs;
    this.#left = Math.min(this.#leftMax, this.#left + comeBack) - 1;
    this.#leftAt = now;
    return Math.max(this.closedMs(), -this.#left / this.#perMs);
  }

  /** How long until anybody may send, after somebody was refused. */
  closedMs(): number {
    return Math.max(0, this.#closedUntil - this.#clock.now());
  }

  /** Count a request whose answer has come, or never will. */
  heard(status?: number, headers?: Headers): void {
    this.#onTheirWay -= 1;
    const left = /;\s*r=(\d+)/.exec(headers?.get("ratelimit") ?? "");
    const policy = /;\s*q=([1-9]\d*);\s*w=([1-9]\d*)/.exec(headers?.get("ratelimit-policy") ?? "");
    if (left && policy) {
      this.#leftMax = Number(policy[1]);
      this.#perMs = this.#leftMax / (Number(policy[2]) * 1_000);
      this.#left = Number(left[1]) - this.#onTheirWay;
      this.#leftAt = this.#clock.now();
    }
    if (status === TOO_MANY_REQUESTS) {
      const waitMs = (seconds(headers?.get("retry-after")) ?? ANSWERED_WAIT_MS_MIN / 1_000) * 1_000;
      this.#closedUntil = Math.max(this.#closedUntil, this.#clock.now() + waitMs);
    }
  }
}

/** Read a `Retry-After`, which is in seconds or a date; undefined where it is neither. */
export function seconds(retryAfter: string | null | undefined): number | undefined {
  if (!retryAfter) return undefined;
  if (/^\d+$/.test(retryAfter)) return Number(retryAfter);
  const at = /^[A-Z]/i.test(retryAfter) ? Date.parse(retryAfter) : NaN; // a date of HTTP begins with its day
  return Number.isNaN(at) ? undefined : Math.max(0, (at - Date.now()) / 1_000);
}
