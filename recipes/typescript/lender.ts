// A small lender, whole: see README.md beside this file.
//
// Every step is kept in `lender.jsonl` before the next begins, and everything that is sent can be
// sent again. So the program may be killed anywhere and started again: nothing is scored twice,
// nothing is lost.

import { fchmodSync, fsyncSync, openSync, readFileSync, truncateSync, writeSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

import { Alama, InvalidApplication, InvalidSignature, verifyWebhook, type NewOutcome } from "@alama/client";

const { env } = process;
const FILES = env.FILES ?? "..";
const STORE = env.STORE ?? "lender.jsonl";
const PORT = Number(env.PORT ?? 9001);
const HOOK_URL = env.HOOK_URL ?? `http://127.0.0.1:${PORT}/alama`;
const EVENTS_S_MAX = Number(env.EVENTS_S_MAX ?? 30);
const BODY_BYTES_MAX = 65_536;

const alama = new Alama(env.ALAMA_URL ?? "http://127.0.0.1:8000", { key: env.ALAMA_KEY });

/** What the lender keeps. Yours is a database with a table for each. */
type Fact =
  | { kind: "endpoint"; id: string; secret: string }
  | { kind: "decision"; loan_id: string; request_id: string; decision: string; score: number }
  | { kind: "event"; id: string; request_id: string; decision: string }
  | { kind: "outcome"; loan_id: string; outcome: NewOutcome["outcome"]; day: string; repaid_amount: number }
  | { kind: "sent"; loan_id: string };

/** A line for each fact. A line that a kill has cut off was never promised, and goes. */
class Store {
  readonly #facts: Fact[];
  readonly #file: number;

  constructor(path: string) {
    this.#file = openSync(path, "a", 0o600); // it has the secret
    fchmodSync(this.#file, 0o600); // the mode above is that of a new file
    const text = readFileSync(path, "utf8");
    const whole = text.slice(0, text.lastIndexOf("\n") + 1);
    truncateSync(path, Buffer.byteLength(whole));
    this.#facts = whole.split("\n").filter(Boolean).map((line) => JSON.parse(line));
  }

  /** When this returns, it is on the disk. */
  keep(fact: Fact): void {
    writeSync(this.#file, `${JSON.stringify(fact)}\n`);
    fsyncSync(this.#file);
    this.#facts.push(fact);
  }

  all<K extends Fact["kind"]>(kind: K): Extract<Fact, { kind: K }>[] {
    return this.#facts.filter((fact): fact is Extract<Fact, { kind: K }> => fact.kind === kind);
  }
}

const store = new Store(STORE);

function rows(name: string): Record<string, string>[] {
  const [head = "", ...lines] = readFileSync(`${FILES}/${name}`, "utf8").trim().split("\n");
  const names = head.split(",");
  return lines.map((line) => Object.fromEntries(line.split(",").map((value, i) => [names[i], value])));
}

/**
 * Step 1: have decisions told to us, and give the secret that they are signed with.
 *
 * A secret is shown once. If we were killed before it was kept, nobody has it: that endpoint is
 * deleted, and another one made.
 */
async function register(): Promise<string> {
  const [known] = store.all("endpoint");
  if (known) return known.secret;
  for (const endpoint of await alama.listEndpoints()) {
    if (endpoint.url === HOOK_URL) await alama.deleteEndpoint(endpoint.id);
  }
  const { id, secret } = await alama.makeEndpoint({
    url: HOOK_URL,
    kinds: ["score.created"],
    description: "recipe: typescript",
  });
  store.keep({ kind: "endpoint", id, secret });
  console.log("endpoint", id);
  return secret;
}

/** Take a webhook: verify, keep, answer, in this order. */
async function receive(request: IncomingMessage, secret: string): Promise<number> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of request) {
    length += part.length;
    if (length > BODY_BYTES_MAX) return 400;
    parts.push(part);
  }
  try {
    const event = await verifyWebhook(Buffer.concat(parts), request.headers, secret);
    if (event.type === "score.created" && !store.all("event").some(({ id }) => id === event.id)) {
      const { request_id, decision } = event.data; // others, also later ones, are no error
      store.keep({ kind: "event", id: event.id, request_id, decision });
      console.log("event", request_id, decision);
    }
    return 204;
  } catch (error) {
    if (error instanceof InvalidSignature) return 400;
    throw error;
  }
}

/** Step 2: decide on everybody of `applicants.csv` who has no decision yet. */
async function scoreApplicants(): Promise<void> {
  const done = new Set(store.all("decision").map(({ loan_id }) => loan_id));
  for (const row of rows("applicants.csv")) {
    const loan_id = row.loan_id!;
    if (done.has(loan_id)) continue;
    const application = {
      applicant_ref: row.applicant_ref!,
      mobile_money_months: Number(row.mobile_money_months),
      monthly_inflow: Number(row.monthly_inflow),
      stability_score: Number(row.stability_score),
      airtime_regularity: Number(row.airtime_regularity),
    };
    try {
      // Killed before it is kept? The same key gets the same score, for 72 hours.
      const idempotencyKey = `typescript-${loan_id}`;
      const { request_id, decision, score } = await alama.score(application, { idempotencyKey });
      store.keep({ kind: "decision", loan_id, request_id, decision, score });
      console.log("scored", loan_id, decision);
    } catch (error) {
      if (!(error instanceof InvalidApplication)) throw error;
      const broken = error.errors.map(({ field, detail }) => `${field}: ${detail}`);
      console.log("refused", loan_id, ...broken); // for a person to mend; the others go on
    }
  }
}

/** Step 3: say what became of the loans of `repayments.csv`. */
async function reportOutcomes(): Promise<void> {
  const day = new Date().toISOString().slice(0, 10);
  const known = new Set(store.all("outcome").map(({ loan_id }) => loan_id));
  for (const row of rows("repayments.csv")) {
    if (known.has(row.loan_id!)) continue; // kept first, with its day: sent again, it says the same
    const outcome = row.outcome as NewOutcome["outcome"];
    store.keep({ kind: "outcome", loan_id: row.loan_id!, outcome, day, repaid_amount: Number(row.repaid_amount) });
  }
  const sent = new Set(store.all("sent").map(({ loan_id }) => loan_id));
  for (const { loan_id, outcome, day: date, repaid_amount } of store.all("outcome")) {
    const decision = store.all("decision").find((each) => each.loan_id === loan_id);
    if (sent.has(loan_id) || !decision) continue;
    const { result } = await alama.recordOutcome({ request_id: decision.request_id, outcome, date, repaid_amount });
    if (!["recorded", "updated", "unchanged"].includes(result)) {
      throw new Error(`${loan_id}: the outcome was not taken: ${result}`);
    }
    store.keep({ kind: "sent", loan_id });
    console.log("outcome", loan_id, outcome);
  }
}

const eventOf = (request_id: string) => store.all("event").find((event) => event.request_id === request_id);

/** Step 4: every decision is told by a webhook, mostly within a second. */
async function waitForEvents(): Promise<void> {
  const deadline = Date.now() + EVENTS_S_MAX * 1_000;
  const isTold = () => store.all("decision").every(({ request_id }) => eventOf(request_id));
  while (Date.now() < deadline && !isTold()) await sleep(100);
}

/** Step 5: what was answered, what was told and what is stored agree. */
async function readBack(): Promise<void> {
  for (const { loan_id, request_id, decision, score } of store.all("decision")) {
    const stored = await alama.getScore(request_id);
    const event = eventOf(request_id);
    if (stored.decision !== decision || (event && event.decision !== decision)) {
      throw new Error(`${loan_id}: what was answered, told and stored do not agree`);
    }
    const by = event ? "webhook" : "asked"; // a late event comes, for three days
    console.log("loan", loan_id, decision, score, by, stored.outcome?.outcome ?? "-");
  }
}

const secret = await register();
const server = createServer(async (request, response) => {
  const status = await receive(request, secret).catch(() => 500);
  response.writeHead(status).end();
});
server.listen(PORT, "127.0.0.1");
await scoreApplicants();
await reportOutcomes();
await waitForEvents();
await readBack();
process.exit(); // the receiver would go on
