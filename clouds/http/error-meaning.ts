import type { InstanceErrorCode } from "#core/instance.ts";

/**
 * What a vendor's error code means. `Throttled`: too many requests. `Quota`: the account has as many of something as it may have.
 * `Conflict`: what is there is not what the request presupposes. `Denied`, `Invalid`: only a change of permissions or of the request helps.
 * `NotFound`: there is no such thing, as far as the user may see. `Unavailable`: passes by itself.
 */
export type ErrorMeaning =
  | "Throttled"
  | "Quota"
  | "Conflict"
  | "Denied"
  | "Invalid"
  | "NotFound"
  | "Unavailable";

/** A vendor's error codes, as its documentation or its own client lists them. Codes that are not listed mean what their status means. */
export type ErrorCodes = Readonly<Partial<Record<ErrorMeaning, ReadonlySet<string>>>>;

/** Returns what a code of the vendor's means, or undefined of a code that is not listed. */
export function findMeaning(codes: ErrorCodes, code: string | undefined): ErrorMeaning | undefined {
  if (code === undefined) return undefined;
  return MEANINGS.find((meaning) => codes[meaning]?.has(code) === true);
}

/** Returns what an HTTP status means where the vendor's code says nothing. */
export function findMeaningOfStatus(status: number): ErrorMeaning {
  return STATUSES.get(status) ?? "Unavailable";
}

/** The code with which a node is answered. A quota or a wrong request is as wrong in two seconds; a conflict passes. */
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
