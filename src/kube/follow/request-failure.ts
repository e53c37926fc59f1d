import { getErrorMessage } from "#core/sanitize-text.ts";
import {
  type AnswerCode,
  classifyAnswer,
  classifyFailure,
  getAnswerCode,
  parseRetryAfter,
} from "#kube/client/answer.ts";
import { ApiUnreachable, type Excess, type LimitName } from "#kube/client/errors.ts";
import type { ApiResponse } from "#kube/client/transport.ts";

/** Why a list or watch failed: the codes of any request, or an unusable answer. */
export type FailureCode =
  | AnswerCode
  /** The answer is not a list. */
  | "BadList"
  /** A watch line cannot be read. */
  | "BadWatchEvent"
  /** The data exceed the cluster's limits; `limit` says which. */
  | "ClusterLimited"
  /** An error in our own code. */
  | "Unexpected";

/** Why a list or watch failed; `message` holds the server's own words, truncated. */
export interface RequestFailure {
  readonly kind: "failed";
  readonly code: FailureCode;
  readonly message: string;
  /** The wait that the server requested, in milliseconds; 0 without one. */
  readonly retryAfterMs: number;
  /** Set if the code is `ClusterLimited`. */
  readonly limit?: LimitName | undefined;
  /** Set if the code is `AnswerTooLarge`. */
  readonly excess?: Excess | undefined;
  /** The server, or a proxy before it, serves nothing at this path, or not to us. */
  readonly isWithheld?: true;
}

/** Creates a failure that does not come from the server. */
export function createFailure(code: FailureCode, message: string): RequestFailure {
  return { kind: "failed", code, message, retryAfterMs: 0 };
}

/** Creates the failure of an exceeded limit; `message` states the data and the effect. */
export function limitMet(limit: LimitName, message: string): RequestFailure {
  return { kind: "failed", code: "ClusterLimited", message, retryAfterMs: 0, limit };
}

/** Converts an unexpected answer to a failure. */
export function toRequestFailure(response: ApiResponse): RequestFailure {
  const answer = classifyAnswer(response);
  if (answer.kind === "applied")
    return createFailure("Unavailable", `${response.status}: not what was asked for`);
  const retryAfterMs = (parseRetryAfter(response) ?? 0) * 1_000;
  const failure = {
    kind: "failed",
    code: getAnswerCode(answer),
    message: answer.message,
    retryAfterMs,
  } as const;
  return WITHHELD.has(response.status) ? { ...failure, isWithheld: true } : failure;
}

const WITHHELD: ReadonlySet<number> = new Set([403, 404]);

/**
 * Converts an error to a failure; errors other than network errors become `Unexpected`, so that nothing ends
 * the loop.
 */
export function toErrorFailure(error: unknown): RequestFailure {
  if (!(error instanceof ApiUnreachable)) return createFailure("Unexpected", getErrorMessage(error));
  const answer = classifyFailure(error);
  return { ...createFailure(getAnswerCode(answer), answer.message), excess: error.excess };
}

/**
 * Returns whether no server accepts connections: the next one may have another history, which may have passed ours
 * by then.
 */
export function isServerAway({ code }: RequestFailure): boolean {
  return code === "ConnectionRefused" || code === "ConnectFailed";
}
