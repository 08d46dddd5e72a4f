// What can go wrong. All of it is under `AlamaError`:
//
//   AlamaError
//     InvalidArgument     a mistake of the caller's, and nothing was sent
//     ConnectionFailed    no answer came, or none of Alama
//       TimedOut          not in time
//     InvalidSignature    a webhook that is not to be trusted
//     Problem             Alama has answered with a problem; itself where the code is not known
//       InvalidApplication, KeyRefused, TooManyRequests, ...    (problems.ts)

import { isObject } from "./shapes.js";

/** One broken rule of one field; never the value that was sent. */
export interface FieldError {
  /** The name of the field, as it was sent. */
  readonly field: string;
  /** Where it is, such as `/mm_months` (RFC 6901). */
  readonly pointer: string;
  /** The rule that is broken, such as `out_of_range`. */
  readonly code: string;
  /** The rule in words. */
  readonly detail: string;
}

/** Whatever went wrong. What is not known of it is undefined, or empty. */
export class AlamaError extends Error {
  override readonly name: string = "AlamaError";
  declare readonly code: string | undefined;
  declare readonly status: number | undefined;
  declare readonly requestId: string | undefined;
  readonly errors: readonly FieldError[] = [];
  /** Seconds after which the same request may be sent again. */
  declare readonly retryAfter: number | undefined;
}

/** What the caller got wrong before anything was sent; names the field, never the value. */
export class InvalidArgument extends AlamaError {
  override readonly name = "InvalidArgument";
}

/** No answer came, or what came is none of Alama; whether anything was done is not known. */
export class ConnectionFailed extends AlamaError {
  override readonly name: string = "ConnectionFailed";
  /** False where no connection was made, so that nothing can have been done. */
  readonly wasSent: boolean;

  constructor(message: string, options: { cause?: unknown; wasSent?: boolean } = {}) {
    super(message, options);
    this.wasSent = options.wasSent ?? true;
  }
}

/** No answer came in time; whether anything was done is not known. */
export class TimedOut extends ConnectionFailed {
  override readonly name = "TimedOut";
}

/** A webhook was not signed with the secret, was changed on its way, or is old. */
export class InvalidSignature extends AlamaError {
  override readonly name = "InvalidSignature";
}

/** Alama, or what stands in front of it, has answered with a problem. */
export class Problem extends AlamaError {
  override readonly name: string = "Problem";
  override readonly code: string | undefined;
  /** Of HTTP; 0 for a redirect in a browser, which tells no more of it. */
  override readonly status: number;
  override readonly requestId: string | undefined;
  override readonly errors: readonly FieldError[];
  override readonly retryAfter: number | undefined;
  readonly title: string;
  readonly detail: string;

  constructor(status: number, problem: unknown, requestId?: string, retryAfter?: number) {
    const said = isObject(problem) ? problem : {};
    const listed = said["errors"];
    const errors = Array.isArray(listed) ? listed.filter(isObject).map(fieldError) : [];
    const [code, detail, id] = [
      textOf(said, "code"),
      textOf(said, "detail"),
      textOf(said, "request_id") ?? requestId,
    ];
    const words = [status, code, detail, id && `(${id})`].filter(Boolean).join(" ");
    super([words, ...errors.map((each) => `  ${each.pointer} ${each.detail}`)].join("\n"));
    this.status = status;
    this.code = code;
    this.title = textOf(said, "title") ?? "";
    this.detail = detail ?? "";
    this.requestId = id;
    this.errors = errors;
    this.retryAfter = retryAfter;
  }
}

function textOf(said: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = said[name];
  return typeof value === "string" ? value : undefined;
}

function fieldError(said: Readonly<Record<string, unknown>>): FieldError {
  const pointer = textOf(said, "pointer") ?? "";
  const field = pointer
    .slice(pointer.lastIndexOf("/") + 1)
    .replaceAll("~1", "/")
    .replaceAll("~0", "~");
  return { field, pointer, code: textOf(said, "code") ?? "", detail: textOf(said, "detail") ?? "" };
}
