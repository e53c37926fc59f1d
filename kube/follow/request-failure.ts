import { messageOf } from "#core/message-of.ts";
import {
  type AnswerCode,
  askedToWaitSeconds,
  classifyAnswer,
  classifyFailure,
  codeOf,
} from "#kube/client/answer.ts";
import { ApiUnreachable, type Excess } from "#kube/client/errors.ts";
import type { LimitName } from "#kube/client/limit-name.ts";
import type { ApiResponse } from "#kube/client/transport.ts";

/** Why a list or a watch came to nothing: as any request, or because what came is not what was asked for. */
export type FailureCode =
  | AnswerCode
  /** The answer is no list. */
  | "BadList"
  /** A line of a watch cannot be read. */
  | "BadWatchEvent"
  /** More came than the cluster's limits allow; `limit` says which. */
  | "ClusterLimited"
  /** A fault of our own. */
  | "Unexpected";

/** Why a list or a watch came to nothing; `message` holds the server's own words, cut. */
export interface RequestFailure {
  readonly kind: "failed";
  readonly code: FailureCode;
  readonly message: string;
  /** What the server asked us to wait, in milliseconds; 0 where it did not. */
  readonly retryAfterMs: number;
  /** Where the code is `ClusterLimited`. */
  readonly limit?: LimitName | undefined;
  /** Where the code is `AnswerTooLarge`. */
  readonly excess?: Excess | undefined;
}

/** A failure that the server has no part in. */
export function failed(code: FailureCode, message: string): RequestFailure {
  return { kind: "failed", code, message, retryAfterMs: 0 };
}

/** More came than a limit allows; `message` says what, and what becomes of it. */
export function limitMet(limit: LimitName, message: string): RequestFailure {
  return { kind: "failed", code: "ClusterLimited", message, retryAfterMs: 0, limit };
}

/** What an answer means that is not what was asked for. */
export function failureOf(response: ApiResponse): RequestFailure {
  const answer = classifyAnswer(response);
  if (answer.kind === "applied") return failed("Unavailable", `${response.status}: not what was asked for`);
  const retryAfterMs = (askedToWaitSeconds(response) ?? 0) * 1_000;
  return { kind: "failed", code: codeOf(answer), message: answer.message, retryAfterMs };
}

/** What no answer means; whatever is not of the network is `Unexpected`, as nothing may end the loop that asks. */
export function failureOfError(error: unknown): RequestFailure {
  if (!(error instanceof ApiUnreachable)) return failed("Unexpected", messageOf(error));
  const answer = classifyFailure(error);
  return { ...failed(codeOf(answer), answer.message), excess: error.excess };
}
