import type { BaseOutcome, CloudError } from "#clouds/outcome.ts";
import type { InstanceAnswer, InstanceErrorCode } from "#core/instance.ts";

/** The reason why a request failed, in the form of an answer. */
export interface Fault extends CloudError {
  /** The HTTP status, if there was an answer. */
  readonly status?: number;
  /** The meaning of the cloud's own code, or else of the status. */
  readonly meaning?: ErrorMeaning;
  /** The cloud's error code, if the answer was its own. */
  readonly errorId?: string;
  /** The key of the configuration that is proven wrong, if any. */
  readonly key?: string;
}

/** The result of a request. */
export type Outcome<Value> = BaseOutcome<Value, Fault>;

/** Builds the answer for a call aborted before its first request; `title` is the cloud's name in messages. */
export function createAbortedAnswer(title: string) {
  return { kind: "error", code: "Aborted", message: `aborted before a request to ${title}` } as const;
}

/** Converts a fault to a node's answer; `subject` names the node and the query. */
export function toErrorAnswer({ code, message }: Fault, subject: string): InstanceAnswer {
  return { kind: "error", code, message: `${subject}: ${message}`.slice(0, MAX_MESSAGE).toWellFormed() };
}

/** Messages contain servers' text, and a faulty server may send a lot. */
const MAX_MESSAGE = 2_000;

/**
 * The meaning of a vendor's error code. `Throttled`: too many requests. `Quota`: the account has reached a
 * resource limit. `Conflict`: the resource is not in the state that the request requires. `Denied`,
 * `Invalid`: only a change of permissions or of the request helps. `NotFoundAnswer`: the resource does not
 * exist, as far as the user may see. `Unavailable`: temporary.
 */
export type ErrorMeaning =
  | "Throttled"
  | "Quota"
  | "Conflict"
  | "Denied"
  | "Invalid"
  | "NotFound"
  | "Unavailable";

/**
 * A vendor's error codes, as its documentation or its own client lists them. Unlisted codes have the meaning
 * of their status.
 */
export type ErrorCodes = Readonly<Partial<Record<ErrorMeaning, ReadonlySet<string>>>>;

/** Returns the meaning of a vendor's code; undefined for an unlisted code. */
export function findMeaning(codes: ErrorCodes, code: string | undefined): ErrorMeaning | undefined {
  if (code === undefined) return undefined;
  return MEANINGS.find((meaning) => codes[meaning]?.has(code) === true);
}

/** Returns the meaning of an HTTP status, for answers without a known code. */
export function findMeaningOfStatus(status: number): ErrorMeaning {
  return STATUSES.get(status) ?? "Unavailable";
}

/**
 * The error code of a node's answer. A quota or an invalid request does not change in seconds; a conflict is
 * temporary.
 */
export const INSTANCE_CODES: Readonly<Record<ErrorMeaning, InstanceErrorCode>> = {
  Throttled: "Throttled",
  Quota: "Denied",
  Conflict: "Unavailable",
  Denied: "Denied",
  Invalid: "Denied",
  NotFound: "Unavailable",
  Unavailable: "Unavailable",
};

const MEANINGS = Object.keys(INSTANCE_CODES) as readonly ErrorMeaning[];

const STATUSES: ReadonlyMap<number, ErrorMeaning> = new Map([
  [400, "Invalid"],
  [401, "Denied"],
  [403, "Denied"],
  [404, "NotFound"],
  [409, "Conflict"],
  [412, "Conflict"],
  [422, "Invalid"],
  [429, "Throttled"],
]);
