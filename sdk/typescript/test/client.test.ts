// The SDK by itself; what it does on the wire, tests/sdk/test_contract.py proves.

import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";

import * as sdk from "@alama/client";
import {
  Alama,
  AlamaError,
  ConnectionFailed,
  InternalError,
  InvalidApplication,
  InvalidArgument,
  InvalidSignature,
  Problem,
  TimedOut,
  TooManyRequests,
  Unavailable,
  UnknownScore,
  verifyWebhook,
  type Application,
  type Event,
  type Scored,
} from "@alama/client";
import { FakeAlama } from "@alama/client/testing";

const COMPACT = {
  mobile_money_months: 24,
  monthly_inflow: 18_500,
  stability_score: 0.7,
  airtime_regularity: 0.8,
};
const HOOK = { url: "https://loans.example.com/hook" };

/** What is thrown where the caller is mistaken, and nothing was sent. */
const mistake = (message: RegExp) => ({ name: "InvalidArgument", message });

async function all<T>(values: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const value of values) found.push(value);
  return found;
}

test("a score is asked for again with the same bytes and key", async () => {
  const fake = new FakeAlama()
    .fail(TimedOut)
    .fail(Unavailable, { retryAfter: 2 })
    .fail(InternalError);
  const score = await fake.client().score(COMPACT);
  assert.deepEqual([...fake.scores.keys()], [score.request_id]);
  assert.equal(fake.requests.length, 4);
  assert.equal(new Set(fake.requests.map(({ body }) => body)).size, 1);
  const keys = new Set(fake.requests.map(({ headers }) => headers["idempotency-key"]));
  assert.match([...keys].join(), /^[0-9a-f-]{36}$/);
  assert.ok(fake.waitedMs >= 2_500);
});

test("retries end", async () => {
  const fake = new FakeAlama().fail(ConnectionFailed, { times: 9 });
  await assert.rejects(fake.client({ retries: 2 }).score(COMPACT), ConnectionFailed);
  assert.equal(fake.requests.length, 3);
});

test("a wait that is too long is not begun", async () => {
  const fake = new FakeAlama().fail(Unavailable, { retryAfter: 61 });
  await assert.rejects(fake.client().score(COMPACT), { name: "Unavailable", retryAfter: 61 });
  assert.equal(fake.requests.length, 1);
});

test("an endpoint is not made twice", async () => {
  const fake = new FakeAlama().fail(InternalError);
  const alama = fake.client();
  await assert.rejects(alama.makeEndpoint(HOOK), InternalError);
  fake.fail(TooManyRequests);
  const made = await alama.makeEndpoint(HOOK);
  assert.equal(made.secret, fake.secret);
  assert.deepEqual(
    (await alama.listEndpoints()).map((each) => ["secret" in each, each.id]),
    [[false, made.id]],
  );
});

test("an endpoint is made again where nobody listened", async () => {
  let left = 1;
  const refused = Object.assign(new Error("nobody listens"), { code: "ECONNREFUSED" });
  const fetch = async () => {
    if (left--) throw new TypeError("fetch failed", { cause: refused });
    return new Response("{}", { status: 500 });
  };
  await assert.rejects(new FakeAlama().client({ fetch }).makeEndpoint(HOOK), { status: 500 });
});

test("pages are read to the end", async () => {
  const fake = new FakeAlama();
  const alama = fake.client();
  const given = (await all(alama.scoreMany(Array(7).fill(COMPACT)))).map(
    (row) => row.score?.request_id,
  );
  const listed = await all(alama.listScores({ pageSize: 3 }));
  assert.deepEqual(
    listed.map((each) => each.request_id),
    given.reverse(),
  );
  assert.equal(fake.requests.filter(({ path }) => path === "/v1/scores").length, 3);
});

test("rows come in order whatever happens to them", async () => {
  const fake = new FakeAlama()
    .fail(TooManyRequests, { times: 30 })
    .fail(ConnectionFailed, { times: 3 });
  async function* applications() {
    for (let n = 0; n < 50; n++) yield { ...COMPACT, counterparties: n };
  }
  const rows = await all(fake.client().scoreMany(applications()));
  assert.deepEqual(
    rows.map((row) => row.index),
    [...Array(50).keys()],
  );
  for (const { application, score } of rows) {
    assert.deepEqual(fake.scores.get(score?.request_id ?? "")?.application, application);
  }
  assert.equal(fake.scores.size, 50);
});

test("an application is what it was when it was given, whatever its owner does with it next", async () => {
  const fake = new FakeAlama();
  function* applications() {
    const reused = { ...COMPACT, counterparties: 0 };
    for (; reused.counterparties < 9; reused.counterparties++) yield reused;
  }
  await all(fake.client().scoreMany(applications()));
  const kept = [...fake.scores.values()].map(({ application }) => application.counterparties);
  assert.deepEqual(kept, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
});

test("a row that fails is told in its place", async () => {
  const fake = new FakeAlama().fail(InvalidApplication);
  const options = { keyOf: () => "one", inOrder: false };
  const rows = await all(fake.client().scoreMany(Array(5).fill(COMPACT), options));
  assert.equal(rows.filter(({ error }) => error instanceof InvalidApplication).length, 1);
  assert.equal(new Set(rows.flatMap(({ score }) => score?.request_id ?? [])).size, 1);
});

test("what JSON does not have is refused before it is sent", async () => {
  const fake = new FakeAlama();
  const alama = fake.client();
  for (const number of [NaN, Infinity, -Infinity, 5n as unknown as number]) {
    const told = mistake(/^avg_balance is no number that JSON has/);
    await assert.rejects(alama.score({ ...COMPACT, avg_balance: number }), told);
    await assert.rejects(alama.explain({ ...COMPACT, avg_balance: number }), told);
  }
  const outcome = { request_id: "req_1", outcome: "repaid", date: "2026-11-16" } as const;
  const unknown = { ...outcome, repaid_amount: NaN };
  await assert.rejects(alama.recordOutcome(unknown), mistake(/^repaid_amount/));
  const endless: Record<string, unknown> = { ...COMPACT };
  endless["itself"] = endless;
  await assert.rejects(alama.score(endless as typeof COMPACT), mistake(/cannot be written/));
  assert.equal(fake.requests.length, 0);
});

test("a row that cannot be sent is told in its place, and harms no other", async () => {
  const fake = new FakeAlama();
  const alama = fake.client();
  const wrong = { ...COMPACT, avg_balance: NaN };
  for (const inOrder of [true, false]) {
    const rows = await all(alama.scoreMany([COMPACT, wrong, COMPACT, wrong], { inOrder }));
    const told = rows.map(({ index, error }) => [index, error?.name]).sort();
    assert.deepEqual(told, [
      [0, undefined],
      [1, "InvalidArgument"],
      [2, undefined],
      [3, "InvalidArgument"],
    ]);
  }
  assert.equal(fake.requests.length, 4);
});

test("a row without the key that the caller wants to give it is not sent under another", async () => {
  const fake = new FakeAlama();
  const refs: (string | undefined)[] = ["a", undefined, "", "d"];
  const rows = await all(
    fake.client().scoreMany(
      refs.map((applicant_ref) => ({ ...COMPACT, applicant_ref })),
      { keyOf: ({ applicant_ref }) => applicant_ref! },
    ),
  );
  assert.deepEqual(
    rows.map(({ error }) => error?.message.slice(0, 28)),
    [undefined, "the idempotency key is empty", "the idempotency key is empty", undefined],
  );
  assert.deepEqual(
    fake.requests.map(({ headers }) => headers["idempotency-key"]),
    ["a", "d"],
  );
});

test("leaving many in the middle leaves nothing running", async () => {
  let running = 0;
  const fetch = (_: string, init: RequestInit) =>
    new Promise<Response>((done, fail) => {
      running += 1;
      const end = (ended: () => void) => {
        running -= 1;
        ended();
      };
      const answer = { ...COMPACT, tier: "A" }; // is no score
      const timer = setTimeout(() => end(() => done(new Response(JSON.stringify(answer)))), 20);
      init.signal?.addEventListener("abort", () => {
        clearTimeout(timer);
        end(() => fail(init.signal?.reason));
      });
    });
  const alama = new Alama("https://alama.invalid", { fetch, retries: 0 });
  const rows = alama.scoreMany(Array(1_000).fill(COMPACT), { atOnce: 3 });
  const first = await rows.next();
  assert.match((first.value as Scored).error?.message ?? "", /no answer of Alama/);
  await rows.return();
  assert.equal(running, 0);
});

test("a signal ends a call, its waits and its retries", async () => {
  const fetch = async () => new Response("{}", { status: 503, headers: { "retry-after": "5" } });
  const alama = new Alama("https://alama.invalid", { fetch });
  const stop = new AbortController();
  const calls = [alama.score(COMPACT, stop), all(alama.scoreMany([COMPACT, COMPACT], stop))];
  setTimeout(() => stop.abort(new Error("enough")), 20);
  for (const call of calls) await assert.rejects(call, /enough/);
  await assert.rejects(alama.health(stop), /enough/);
  const ended = AbortSignal.abort(new TimedOut("enough"));
  await assert.rejects(alama.health({ signal: ended }), /enough/);
});

test("a mistake of the caller's is told at once, and not taken for the network's", async () => {
  const fake = new FakeAlama();
  const broken = () => {
    throw new RangeError("of the caller");
  };
  await assert.rejects(fake.client({ traceparent: broken }).health(), RangeError);
  const unprintable = fake.client({ traceparent: () => "a\nb" });
  await assert.rejects(unprintable.health(), mistake(/^the traceparent/));
  const unnamed = fake.client().score(COMPACT, { idempotencyKey: "" });
  await assert.rejects(unnamed, mistake(/^the idempotency key/));
  assert.equal(fake.requests.length, 0);
});

test("members that are not known are kept", async () => {
  const shap_values = [{ feature: "f", contribution: 1, unit: "p" }];
  const fake = new FakeAlama().answer({ added: { deep: [1] }, shap_values });
  const score = await fake.client().score(COMPACT);
  assert.deepEqual((score as { added?: unknown }).added, { deep: [1] });
  assert.deepEqual(score.shap_values, shap_values);
});

test("what is no score is no answer", async () => {
  for (const wrong of [
    { score: "700" },
    { shap_values: {} },
    { tier: null },
    { offer: { fee: 1 } },
  ]) {
    const alama = new FakeAlama()
      .answer(wrong as object as Record<string, never>)
      .client({ retries: 0 });
    await assert.rejects(alama.score(COMPACT), /no answer of Alama/);
  }
});

test("a key that cannot be sent is refused and not shown", () => {
  for (const key of ["", " ", "alama_test_1\n", "a\r\nb: c"]) {
    assert.throws(() => new Alama("https://scores.example.com", { key }), {
      name: "InvalidArgument",
      message: "the API key is empty, or has characters that cannot be printed",
    });
  }
});

test("an address that is none is refused before anything is sent", () => {
  for (const address of [
    "",
    "scores.example.com",
    "localhost:8000",
    "//scores.example.com",
    "ftp://scores.example.com",
    "https://",
    "https://scores example.com",
    undefined as unknown as string,
  ]) {
    assert.throws(() => new Alama(address), mistake(/https:\/\/ or http:\/\//), address);
  }
});

test("a client does not show its key", () => {
  const shown = inspect(new Alama("https://scores.example.com", { key: "alama_test_1" }), {
    depth: 9,
  });
  assert.doesNotMatch(shown, /alama_test/);
});

test("a key beyond ASCII is sent as the bytes of UTF-8", async () => {
  const fake = new FakeAlama();
  await fake.client().score(COMPACT, { idempotencyKey: "mkopo-é" });
  assert.equal(
    Buffer.from(fake.requests[0]?.headers["idempotency-key"] ?? "", "latin1").toString(),
    "mkopo-é",
  );
});

test("every problem has its code, its status and its name, minified or not", () => {
  const kinds = Object.values(sdk).filter((each) => typeof each === "function" && "code" in each);
  assert.ok(kinds.length > 40);
  for (const kind of kinds) {
    const error = new kind(kind.status, { code: kind.code });
    assert.ok(error instanceof Problem && error instanceof AlamaError && error instanceof Error);
    assert.equal(error.name, kind.name);
    assert.equal(error.code, kind.code);
  }
  for (const kind of [AlamaError, InvalidArgument, ConnectionFailed, TimedOut, InvalidSignature]) {
    const error = new kind("why");
    assert.ok(error instanceof AlamaError);
    assert.equal(error.name, kind.name);
  }
});

test("a problem says what is wrong", () => {
  const error = new InvalidApplication(422, {
    code: "invalid_application",
    detail: "1 rule is broken: see errors.",
    request_id: "req_1",
    errors: [{ pointer: "/a~1b", code: "wrong_type", detail: "must be a number" }, 7],
  });
  assert.equal(
    error.message,
    "422 invalid_application 1 rule is broken: see errors. (req_1)\n  /a~1b must be a number",
  );
  assert.deepEqual(
    error.errors.map(({ field }) => field),
    ["a/b"],
  );
});

test("whatever a proxy answers is a problem", async () => {
  for (const said of [
    "",
    "{}",
    "[]",
    '{"code": 5}',
    '{"errors": "none"}',
    '{"request_id": null}',
    "<html>",
  ]) {
    const fetch = async () =>
      new Response(said, { status: 418, headers: { "request-id": "req_1" } });
    const told = { name: "Problem", status: 418, code: undefined, requestId: "req_1", errors: [] };
    await assert.rejects(new Alama("https://alama.invalid", { fetch }).health(), told);
  }
});

test("a score that is not there, under any name", async () => {
  await assert.rejects(new FakeAlama().client().getScore("req_0/../health"), UnknownScore);
});

test("Retry-After is seconds or a date", async () => {
  const soon = new Date(Date.now() + 30_000).toUTCString();
  for (const [said, low, high] of [
    ["7", 7, 7],
    [soon, 28, 30],
    ["Wed, 21 Oct 2015 07:28:00 GMT", 0, 0],
  ] as const) {
    assert.ok(low <= (await told(said))! && (await told(said))! <= high, said);
  }
  for (const said of ["", "soon", "-1", "²"]) assert.equal(await told(said), undefined);

  async function told(said: string): Promise<number | undefined> {
    const fetch = async () => new Response("{}", { status: 429, headers: { "retry-after": said } });
    const error: unknown = await new Alama("https://alama.invalid", { fetch, retries: 0 })
      .getScore("req_1")
      .catch((thrown: unknown) => thrown);
    return (error as AlamaError).retryAfter;
  }
});

test("many go as fast as the key may: what is left at once, then one by one", async () => {
  let now = 0;
  const sent: number[] = [];
  const clock = {
    now: () => now,
    sleep: async (ms: number) => {
      now += ms;
    },
  };
  const headers = { ratelimit: '"key";r=0;t=1', "ratelimit-policy": '"key";q=20;w=2' };
  const fetch = async () => {
    sent.push(now);
    return new Response("{}", { status: 422, headers });
  };
  const alama = new Alama("https://alama.invalid", { fetch, clock });
  await all(alama.scoreMany(Array(5).fill(COMPACT), { atOnce: 1 }));
  assert.deepEqual(sent.map(Math.round), [0, 100, 200, 300, 400]);
});

test("a webhook is verified over its bytes, by whatever headers come in", async () => {
  const fake = new FakeAlama();
  const { headers, body } = await fake.webhook("model.drift_detected", {
    model: "m",
    card: "full",
    names: [{ name: "score", psi: 0.3, limit: 0.2 }],
    first_day: "2026-11-01",
    last_day: "2026-11-14",
    scores: 900,
  });
  const upper = Object.fromEntries(
    Object.entries(headers).map(([name, text]) => [name.toUpperCase(), text]),
  );
  for (const named of [headers, upper, new Headers(headers)]) {
    const event = await verifyWebhook(Buffer.from(body), named, fake.secret);
    assert.ok(event.type === "model.drift_detected" && event.data.names[0]?.psi === 0.3);
  }
  const otherwise = JSON.stringify(JSON.parse(body), null, 1);
  await assert.rejects(verifyWebhook(otherwise, headers, fake.secret), InvalidSignature);
  await assert.rejects(verifyWebhook(body, {}, fake.secret), InvalidSignature);
  await assert.rejects(verifyWebhook(body, headers, fake.secret, { toleranceS: -1 }), /ago/);
});

test("what is signed and no event is refused", async () => {
  const fake = new FakeAlama();
  const { headers, body } = await fake.webhook("score.created", {});
  await assert.rejects(verifyWebhook(body, headers, fake.secret), /no event all the same/);
});

test("a secret that is none is a mistake of ours", async () => {
  const fake = new FakeAlama();
  const { headers, body } = await fake.webhook("webhook.test", {
    endpoint_id: "we_1",
    message: "m",
  });
  const unset = undefined as unknown as string; // as a variable of the environment may be
  for (const secret of ["", "whsec_", "whsec_###", [], [fake.secret, ""], unset]) {
    const told = mistake(/^the secret of the webhook/); // and no forgery, whatever came
    await assert.rejects(verifyWebhook(body, headers, secret), told);
    await assert.rejects(verifyWebhook(body, {}, secret), told);
  }
});

test("the fake keeps what Alama would keep", async () => {
  const fake = new FakeAlama().answer({ decision: "REVIEW" });
  const alama = fake.client();
  const { request_id } = await alama.score(COMPACT);
  assert.equal((await all(alama.listScores({ waiting: true }))).length, 1);
  const review = { decision: "APPROVED", reason: "other", name: "W. Mutua" } as const;
  assert.equal((await alama.review(request_id, review)).overrides, false);
  await alama.review(request_id, review);
  await assert.rejects(
    alama.review(request_id, { ...review, decision: "DECLINED" }),
    sdk.AlreadyReviewed,
  );
  assert.equal((await all(alama.listScores({ waiting: true }))).length, 0);
  assert.equal((await alama.getScore(request_id)).review?.name, "W. Mutua");
  const outcome = { request_id, outcome: "defaulted", date: "2026-11-16" } as const;
  assert.deepEqual(await alama.recordOutcome(outcome), {
    request_id,
    result: "recorded",
    is_default: true,
  });
  const paid = {
    applicant_ref: "cust-1",
    loan: "L-1",
    kind: "payment",
    date: "2026-11-16",
    amount: 500,
  } as const;
  const told = [{ loan: "L-1", result: "recorded" }];
  assert.deepEqual(await alama.recordLoans([paid]), told);
  assert.equal((await alama.recordLoans([paid]))[0]?.result, "unchanged");
  assert.equal((await alama.explain(COMPACT)).recourse, "already_met");
  assert.equal((await alama.health()).status, "ok");
  assert.equal((await alama.key()).mode, "test");
  await alama.deleteEndpoint((await alama.makeEndpoint(HOOK)).id);
  assert.equal(fake.endpoints.size, 0);
});

test("an endpoint is tried with an event of its own", async () => {
  const fake = new FakeAlama();
  const alama = fake.client();
  const { id } = await alama.makeEndpoint(HOOK);
  const { event } = await alama.testEndpoint(id);
  assert.match(event, /^evt_[0-9a-f]{28}$/);
  assert.notEqual((await alama.testEndpoint(id)).event, event);
  const [, tried] = fake.requests;
  assert.equal(`${tried?.method} ${tried?.path}`, `POST /v1/webhook_endpoints/${id}/test`);
  await assert.rejects(alama.testEndpoint("we_0"), sdk.UnknownWebhookEndpoint);
});

test("an explanation is asked for as many ways as are wanted, under either name", async () => {
  const fake = new FakeAlama();
  const alama = fake.client();
  await alama.explain(COMPACT, { ways: 2, locked: ["region", "avg_balance"] });
  await alama.explain(COMPACT, { limit: 2 });
  await alama.explain(COMPACT);
  assert.deepEqual(
    fake.requests.map(({ query }) => query),
    [{ ways: "2", locked: "region,avg_balance" }, { ways: "2" }, {}],
  );
});

// ------------------------------------------------------------------- what must not compile

export function types(alama: Alama, event: Event, problem: InvalidApplication): void {
  const full: Application = {
    mm_months: 1,
    avg_inflow: 1,
    balance_stability: 1,
    airtime_regularity: 1,
  };
  const { airtime_regularity: _, ...short } = COMPACT;
  // @ts-expect-error a field that is required is missing
  void alama.score(short);
  // @ts-expect-error the name of a field is mistyped, in an object that is written here
  void alama.score({ ...full, regoin: "Nyeri" });
  const elsewhere = { ...full, regoin: "Nyeri" };
  void alama.score(elsewhere); // only Alama knows
  const numbered = { ...COMPACT, region: 7 };
  // @ts-expect-error a field is of another type, wherever it comes from
  void alama.score(numbered);
  // @ts-expect-error a word that is none of those that can be asked for
  void alama.score(full, { expand: ["everything"] });
  const code: "invalid_application" = problem.code;
  // @ts-expect-error an event is told apart first
  void [code, event.data.message];
  if (event.type === "webhook.test") {
    const message: string = event.data.message;
    // @ts-expect-error of another kind of event
    void [message, event.data.score];
  }
  switch (event.type) {
    case "score.created": {
      const score: number = event.data.score;
      return void score;
    }
    case "webhook_endpoint.disabled":
      return void event.data.reason;
    default: {
      // @ts-expect-error what is not told apart yet is not the event that was
      return void event.data.score;
    }
  }
}
