import type { HttpAnswer } from "#clouds/http/client.ts";
import {
  type ErrorMeaning,
  type Fault,
  findMeaningOfStatus,
  INSTANCE_CODES,
  type Outcome,
} from "#clouds/http/outcome.ts";
import { ok } from "#clouds/outcome.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";

/** A cloud's own error, as far as it has one. */
export interface ApiError {
  readonly id?: string | undefined;
  readonly message?: string | undefined;
  readonly requestId?: string | undefined;
  /** The meaning of the cloud's own code, if the cloud documents it. It has priority over the status. */
  readonly meaning?: ErrorMeaning | undefined;
}

/** Finds the cloud's own error in the parsed body of an answer; undefined for any other body. */
export type ApiErrorReader = (body: unknown, answer: HttpAnswer) => ApiError | undefined;

/**
 * Returns the body of an answer as JSON, or the fault of its status; undefined for a body that may be empty.
 * `request` is method and path without ids, for messages. Only the caller can tell whether a 404 means that a
 * resource is gone.
 */
export function classify(answer: HttpAnswer, request: string, readError: ApiErrorReader): Outcome<unknown> {
  const { status } = answer;
  const body = tryParse(answer.body);
  if (status >= 200 && status < 300) {
    if (body !== undefined || isRightlyEmpty(answer)) return ok(body);
    return {
      kind: "fault",
      fault: { code: "Unavailable", status, message: `${request}: ${status}, ${describeBody(answer)}` },
    };
  }
  const error = body === undefined ? undefined : readError(body, answer);
  const description = error === undefined ? describeBody(answer) : describeApiError(error);
  const hint = status >= 300 && status < 400 ? "; redirects are not followed" : "";
  // 429 is a throttle whatever code comes with it.
  const meaning = (status === 429 ? undefined : error?.meaning) ?? findMeaningOfStatus(status);
  const code = INSTANCE_CODES[meaning];
  const isTransient = code === "Unavailable" && (status === 408 || status >= 500);
  return {
    kind: "fault",
    fault: {
      code,
      meaning,
      status,
      message: `${request}: ${status}, ${description}${hint}`,
      ...(error?.id === undefined ? {} : { errorId: truncate(error.id) }),
      ...(isTransient ? { transient: true } : {}),
    },
  };
}

/** Builds the fault of a request without a complete answer. */
export function buildUnansweredFault(cause: unknown, request: string): Fault {
  // For a name with several addresses, the combined error has a code but no message.
  const { code } = cause as { readonly code?: unknown };
  const message = getErrorMessage(cause) || String(code);
  return { code: "Unavailable", message: `${request}: ${truncate(message)}`, transient: true };
}

/** Maximum length of a server's message that is repeated. */
const MAX_TEXT_LENGTH = 300;

function describeApiError({ id, message, requestId }: ApiError): string {
  const text = [id, message].filter((each) => each !== undefined && each !== "").join(": ");
  return truncate(text) + (requestId === undefined ? "" : ` (request ${truncate(requestId)})`);
}

function describeBody({ headers, body }: HttpAnswer): string {
  return body === ""
    ? "an empty body"
    : `a body that is not the API's JSON (${truncate(headers["content-type"] ?? "of no type")})`;
}

function truncate(text: string): string {
  return text.slice(0, MAX_TEXT_LENGTH).toWellFormed();
}

/** Whether an empty body is valid: for a completed change, but not for a read that returned 200. */
function isRightlyEmpty({ status, body }: HttpAnswer): boolean {
  return status !== 200 && body === "";
}

function tryParse(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** Parses JSON. Whole numbers that a double cannot represent stay text, because ids may have 64 bits. */
export function parseJson(text: string): unknown {
  // A reviver is several times slower, and few answers have a number that needs it.
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  return JSON.parse(text, keepDigits as (key: string, value: unknown) => unknown);
}

/** Node passes the source of each primitive to a reviver; TypeScript's library does not declare it yet. */
function keepDigits(_key: string, value: unknown, context: { readonly source?: string }): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
  const source = context.source ?? "";
  return /^-?\d+$/.test(source) ? source : value;
}

type Secrets = Pick<Signature, "secrets">;

/** Redacts secrets in a fault's message, in case a server repeats the request. */
export function redactOutcome<Value>(outcome: Outcome<Value>, signature: Secrets): Outcome<Value> {
  if (outcome.kind === "ok") return outcome;
  return {
    kind: "fault",
    fault: { ...outcome.fault, message: redactText(outcome.fault.message, signature) },
  };
}

/** Redacts secrets in an error message. Call it before truncating: a truncated secret no longer matches. */
export function redactError(error: ApiError | undefined, signature: Secrets): ApiError | undefined {
  return error?.message === undefined ? error : { ...error, message: redactText(error.message, signature) };
}

function redactText(text: string, { secrets }: Secrets): string {
  return secrets.reduce((redacted, secret) => redacted.replaceAll(secret, "…"), text);
}

/** Headers that identify the sender, and the texts in them that must never be repeated; no text is empty. */
export interface Signature {
  readonly headers: Readonly<Record<string, string>>;
  readonly secrets: readonly string[];
}
