import type { HttpAnswer } from "#clouds/http/client.ts";
import { type ErrorMeaning, findMeaningOfStatus, INSTANCE_CODES } from "#clouds/http/error-meaning.ts";
import { parseJson } from "#clouds/http/json.ts";
import type { Fault, Outcome } from "#clouds/http/outcome.ts";
import { ok } from "#clouds/outcome.ts";
import { messageOf } from "#core/message-of.ts";

/** What a cloud's own error says, as far as it says it. */
export interface CloudError {
  readonly id?: string | undefined;
  readonly message?: string | undefined;
  readonly requestId?: string | undefined;
  /** What the cloud's own code means, where the cloud lists it. It outweighs the status. */
  readonly meaning?: ErrorMeaning | undefined;
}

/** Finds the cloud's own error in the parsed body of an answer; undefined where the body is no error of the cloud's. */
export type ReadCloudError = (body: unknown, answer: HttpAnswer) => CloudError | undefined;

/**
 * The body of an answer as JSON (undefined of one that has none and needs none), or what its status says went wrong. `request` is method and path without ids, as
 * messages name it. Whether a 404 means that something is gone only the caller can tell.
 */
export function classify(answer: HttpAnswer, request: string, readError: ReadCloudError): Outcome<unknown> {
  const { status } = answer;
  const body = tryParse(answer.body);
  if (status >= 200 && status < 300) {
    if (body !== undefined || isRightlyEmpty(answer)) return ok(body);
    return {
      kind: "fault",
      fault: { code: "Unavailable", status, message: `${request}: ${status}, ${rubbish(answer)}` },
    };
  }
  const error = body === undefined ? undefined : readError(body, answer);
  const what = error === undefined ? rubbish(answer) : inWords(error);
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
      message: `${request}: ${status}, ${what}${hint}`,
      ...(error?.id === undefined ? {} : { errorId: cut(error.id) }),
      ...(isTransient ? { transient: true } : {}),
    },
  };
}

/** A request that no whole answer came to. */
export function unanswered(cause: unknown, request: string): Fault {
  // Where a name has several addresses, the error of all of them together has a code and no words.
  const { code } = cause as { readonly code?: unknown };
  const message = messageOf(cause) || String(code);
  return { code: "Unavailable", message: `${request}: ${cut(message)}`, transient: true };
}

/** As much of a server's own words as is repeated. */
const MAX_WORDS = 300;

function inWords({ id, message, requestId }: CloudError): string {
  const words = [id, message].filter((each) => each !== undefined && each !== "").join(": ");
  return cut(words) + (requestId === undefined ? "" : ` (request ${cut(requestId)})`);
}

function rubbish({ headers, body }: HttpAnswer): string {
  return body === ""
    ? "an empty body"
    : `a body that is not the API's JSON (${cut(headers["content-type"] ?? "of no type")})`;
}

function cut(words: string): string {
  return words.slice(0, MAX_WORDS).toWellFormed();
}

/** What was done may be answered without a word; what was asked for with 200 may not. */
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
