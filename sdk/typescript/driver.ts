// The driver of the contract suite, by the public API alone: see ../contract/README.md.

import { createInterface } from "node:readline";

import { Alama, AlamaError, verifyWebhook, type Event, type Scored } from "@alama/client";

// What a line says is whatever the suite wants it to be.
type Json = any;

async function answer(line: Json): Promise<object> {
  const { id, args } = line;
  try {
    return { id, ok: (await ask(clientOf(line), line.do, args)) ?? null };
  } catch (error) {
    return { id, error: told(error) };
  }
}

function clientOf(line: Json): Alama {
  return new Alama(line.base_url, {
    key: line.key ?? undefined,
    timeoutMs: line.timeout_s * 1_000,
    totalTimeoutMs: line.total_s * 1_000,
    retries: line.retries,
    traceparent: () => line.args.traceparent,
  });
}

async function ask(alama: Alama, what: string, args: Json): Promise<unknown> {
  const { application, applications, request_id, idempotency_key: idempotencyKey, ...rest } = args;
  switch (what) {
    case "score":
      return alama.score(application, { ...rest, idempotencyKey });
    case "explain":
      return alama.explain(application, rest);
    case "health":
      return alama.health();
    case "get_score":
      return alama.getScore(request_id);
    case "list_scores":
      return all(alama.listScores({ pageSize: args.limit, waiting: args.waiting }));
    case "score_many":
      return (await all(alama.scoreMany(applications, { inOrder: args.in_order }))).map(row);
    case "record_outcome":
      return alama.recordOutcome(args);
    case "review":
      return alama.review(request_id, rest);
    case "make_endpoint":
      return alama.makeEndpoint(args);
    case "list_endpoints":
      return alama.listEndpoints();
    case "delete_endpoint":
      return alama.deleteEndpoint(args.id);
    case "test_endpoint":
      return alama.testEndpoint(args.id);
    case "verify_webhook": {
      const event = await verifyWebhook(Buffer.from(args.body), args.headers, args.secrets);
      return named(event);
    }
    case "race": {
      const racers = Array.from({ length: args.n }, () =>
        alama.score(application, { idempotencyKey }),
      );
      const settled = await Promise.allSettled(racers);
      return settled.map((one) =>
        one.status === "fulfilled" ? { ok: one.value } : { error: told(one.reason) },
      );
    }
    default:
      throw new Error(`the driver cannot ${what}`);
  }
}

async function all<T>(values: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const value of values) found.push(value);
  return found;
}

function row({ index, score, error }: Scored): object {
  return error ? { index, error: told(error) } : { index, ok: score };
}

/** An event by its type in TypeScript, and with the type that it came with. */
function named(event: Event): object {
  const words = event.type.replace(/(?:^|[._])(.)/g, (_, letter: string) => letter.toUpperCase());
  return {
    ...event,
    event: `${words}Event`,
    type: event.type === "other" ? event.kind : event.type,
  };
}

function told(error: unknown): object {
  if (!(error instanceof AlamaError)) throw error;
  return {
    type: error.constructor.name,
    code: error.code ?? null,
    status: error.status ?? null,
    request_id: error.requestId ?? null,
    errors: error.errors,
    retry_after: error.retryAfter ?? null,
  };
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await answer(JSON.parse(line))));
}
process.exit(); // connections that are kept alive would keep it waiting
