// Webhooks: from bytes that came over the internet to typed events that can be trusted.

import type { Open } from "./answers.js";
import { webCrypto } from "./crypto.js";
import { InvalidArgument, InvalidSignature } from "./errors.js";
import {
  flag,
  isObject,
  list,
  nullable,
  number,
  object,
  parsed,
  text,
  type Check,
} from "./shapes.js";

const TOLERANCE_S = 300;
const NO_SECRET = "the secret of the webhook is no base64, or empty: anyone could sign";

/** What all events have. */
interface Told<Type extends string, Data> {
  /** The same each time the event comes: do it once. */
  readonly id: string;
  readonly type: Type;
  /** When it happened; events may come in another order. */
  readonly timestamp: string;
  readonly data: Data;
}

/** What those have that are known here. */
type Known<Type extends string, Data> = Told<
  Type,
  Data & {
    /** A `test` decision is nobody's loan. */
    readonly mode: Open<"test" | "live">;
  }
>;

/** A score was given. */
export type ScoreCreatedEvent = Known<
  "score.created",
  {
    readonly request_id: string;
    readonly score: number;
    readonly tier: string;
    readonly decision: Open<"APPROVED" | "REVIEW" | "DECLINED">;
    readonly model: string;
    readonly policy: string;
  }
>;

/** An officer has decided on a score. */
export type ScoreReviewedEvent = Known<
  "score.reviewed",
  {
    readonly request_id: string;
    readonly decision: string;
    readonly given_decision: string;
    readonly overrides: boolean;
    readonly tier: string;
    readonly model: string;
  }
>;

/** Something new is known of a loan. */
export type OutcomeRecordedEvent = Known<
  "outcome.recorded",
  {
    readonly request_id: string;
    readonly outcome: string;
    readonly date: string;
    readonly is_default: boolean;
    readonly tier: string;
    readonly model: string;
  }
>;

interface Activated {
  readonly model: string | null;
  readonly policy: string | null;
  readonly activated_at: string;
}

/** Another policy answers; null stands for the one that comes with Alama. */
export type PolicyActivatedEvent = Known<"policy.activated", Activated>;

/** Another model answers; null stands for the one that comes with Alama. */
export type ModelActivatedEvent = Known<"model.activated", Activated>;

/** A field, or the score, that has moved away from training. */
export interface Drift {
  readonly name: string;
  readonly psi: number;
  readonly limit: number;
}

/** Applicants have changed since the model was trained. */
export type ModelDriftDetectedEvent = Known<
  "model.drift_detected",
  {
    readonly model: string;
    readonly card: string;
    readonly names: readonly Drift[];
    readonly first_day: string;
    readonly last_day: string;
    readonly scores: number;
  }
>;

/** An endpoint was given up. */
export type WebhookEndpointDisabledEvent = Known<
  "webhook_endpoint.disabled",
  { readonly endpoint_id: string; readonly reason: string }
>;

/** Somebody has asked for it. */
export type WebhookTestEvent = Known<
  "webhook.test",
  { readonly endpoint_id: string; readonly message: string }
>;

export type KnownEvent =
  | ScoreCreatedEvent
  | ScoreReviewedEvent
  | OutcomeRecordedEvent
  | PolicyActivatedEvent
  | ModelActivatedEvent
  | ModelDriftDetectedEvent
  | WebhookEndpointDisabledEvent
  | WebhookTestEvent;

/** An event of a kind that this version does not know: answer 2xx all the same. */
export interface OtherEvent extends Told<"other", Readonly<Record<string, unknown>>> {
  /** The type that Alama gave it. */
  readonly kind: string;
}

/** `switch (event.type)` tells which one it is, and so what is in `event.data`. */
export type Event = KnownEvent | OtherEvent;
export type EventType = KnownEvent["type"];

type Data<Type extends EventType> = Extract<KnownEvent, { type: Type }>["data"];

const activated = {
  mode: text,
  model: nullable(text),
  policy: nullable(text),
  activated_at: text,
};

const DATA: { readonly [Type in EventType]: Check<Data<Type>> } = {
  "score.created": object<Data<"score.created">>({
    mode: text,
    request_id: text,
    score: number,
    tier: text,
    decision: text,
    model: text,
    policy: text,
  }),
  "score.reviewed": object<Data<"score.reviewed">>({
    mode: text,
    request_id: text,
    decision: text,
    given_decision: text,
    overrides: flag,
    tier: text,
    model: text,
  }),
  "outcome.recorded": object<Data<"outcome.recorded">>({
    mode: text,
    request_id: text,
    outcome: text,
    date: text,
    is_default: flag,
    tier: text,
    model: text,
  }),
  "policy.activated": object<Data<"policy.activated">>(activated),
  "model.activated": object<Data<"model.activated">>(activated),
  "model.drift_detected": object<Data<"model.drift_detected">>({
    mode: text,
    model: text,
    card: text,
    names: list(object<Drift>({ name: text, psi: number, limit: number })),
    first_day: text,
    last_day: text,
    scores: number,
  }),
  "webhook_endpoint.disabled": object<Data<"webhook_endpoint.disabled">>({
    mode: text,
    endpoint_id: text,
    reason: text,
  }),
  "webhook.test": object<Data<"webhook.test">>({ mode: text, endpoint_id: text, message: text }),
};

/** Headers as they come: of `Request`, or of Node's `IncomingMessage`. */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Give the event of a webhook, or throw `InvalidSignature`; without a secret, `InvalidArgument`.
 *
 * `body` is what came, byte for byte, before any framework has parsed it. Of several secrets, as
 * while one is replaced, any will do.
 */
export async function verifyWebhook(
  body: Uint8Array | ArrayBuffer | string,
  headers: WebhookHeaders,
  secret: string | readonly string[],
  options: { toleranceS?: number } = {},
): Promise<Event> {
  const { subtle } = await webCrypto();
  const secrets = [secret].flat();
  if (secrets.length === 0) throw new InvalidArgument(NO_SECRET);
  const keys = await Promise.all(secrets.map((each) => keyOf(subtle, each)));
  const named = reader(headers);
  const [id, sentAt, signatures] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map(
    named,
  );
  if (!id || !sentAt || !signatures || !/^\d+$/.test(sentAt)) {
    throw new InvalidSignature("a header of the webhook is missing or malformed");
  }
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : new Uint8Array(body);
  const message = signed(id, sentAt, bytes);
  const given = signatures
    .split(/\s+/)
    .filter((each) => each.startsWith("v1,"))
    .map((each) => decoded(each.slice(3)));
  // Every pair is compared, each in constant time, so that the time tells nothing of which one held.
  const held = await Promise.all(
    keys.flatMap((key) => given.map((theirs) => subtle.verify("HMAC", key, theirs, message))),
  );
  if (!held.includes(true)) {
    throw new InvalidSignature("no signature of this webhook was made with the secret");
  }
  const ageS = Math.abs(Date.now() / 1_000 - Number(sentAt));
  if (ageS > (options.toleranceS ?? TOLERANCE_S)) {
    throw new InvalidSignature(`the webhook was sent ${ageS.toFixed()} s ago, or a clock is wrong`);
  }
  return eventOf(id, new TextDecoder().decode(bytes));
}

/** Give the headers that Alama would send with a body, to try a receiver. */
export async function signWebhook(
  body: string,
  id: string,
  secret: string,
  sentAtS = Math.floor(Date.now() / 1_000),
): Promise<Record<string, string>> {
  const { subtle } = await webCrypto();
  const message = signed(id, String(sentAtS), new TextEncoder().encode(body));
  const signature = await subtle.sign("HMAC", await keyOf(subtle, secret), message);
  return {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": String(sentAtS),
    "webhook-signature": `v1,${btoa(String.fromCharCode(...new Uint8Array(signature)))}`,
  };
}

function eventOf(id: string, body: string): Event {
  const told = parsed(body);
  if (isTold(told)) {
    const isKnown = new Map<string, Check<unknown>>(Object.entries(DATA)).get(told.type);
    if (!isKnown) return { ...told, id, type: "other", kind: told.type };
    if (isKnown(told.data)) return { ...told, id } as KnownEvent;
  }
  throw new InvalidSignature("it is signed, and no event all the same");
}

const isTold = object<{ type: string; timestamp: string; data: Readonly<Record<string, unknown>> }>(
  {
    type: text,
    timestamp: text,
    data: isObject,
  },
);

function reader(headers: WebhookHeaders): (name: string) => string | undefined {
  const { get } = headers;
  if (typeof get === "function") return (name) => get.call(headers, name) ?? undefined;
  const named = new Map(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]),
  );
  return (name) => named.get(name);
}

function signed(id: string, sentAt: string, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const head = new TextEncoder().encode(`${id}.${sentAt}.`);
  const message = new Uint8Array(head.length + body.length);
  message.set(head);
  message.set(body, head.length);
  return message;
}

function decoded(base64: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(base64), (each) => each.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}

function keyOf(subtle: SubtleCrypto, secret: string | undefined): Promise<CryptoKey> {
  const key = decoded(secret?.trim().replace(/^whsec_/, "") ?? "");
  if (key.length === 0) throw new InvalidArgument(NO_SECRET);
  return subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign", "verify"]);
}
