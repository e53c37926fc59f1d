import * as z from "zod";
import type { ApiErrorReader } from "#clouds/http/classify.ts";
import { type ErrorCodes, type Fault, findMeaning } from "#clouds/http/outcome.ts";

/** The format of Oracle's errors. */
const ErrorBody = z.object({ code: z.string(), message: z.string().optional().catch(undefined) });

/** Oracle rejects a request whose date differs by more than this. */
const MAX_CLOCK_SKEW_MS = 5 * 60_000;

/**
 * Creates the reader of Oracle's errors. It adds this machine's clock difference to a rejection, because a
 * wrong clock looks like a wrong key. `wallClock` is milliseconds since the epoch.
 */
export function readErrorAt(wallClock: () => number): ApiErrorReader {
  return (body, { status, headers }) => {
    const { success, data } = ErrorBody.safeParse(body);
    if (!success) return undefined;
    const clock = status === 401 ? describeClockSkew(headers["date"], wallClock()) : undefined;
    const words = [clock, data.message].filter((each) => each !== undefined);
    return {
      ...{ id: data.code, message: words.join("; "), requestId: headers["opc-request-id"] },
      meaning: findMeaning(OCI_ERROR_CODES, data.code),
    };
  };
}

/**
 * Whether Oracle itself says "not found", which it also says for missing permissions; a 404 from an
 * intermediate server proves nothing.
 */
export function isNotFound({ status, errorId }: Pick<Fault, "status" | "errorId">): boolean {
  return status === 404 && errorId === "NotAuthorizedOrNotFound";
}

/**
 * Whether Oracle says that the user lacks permission; for resources that a user may not see it says "not
 * found".
 */
export function isDenied(fault: Pick<Fault, "status" | "errorId">): boolean {
  return isNotFound(fault) || fault.status === 403;
}

function describeClockSkew(date: string | undefined, now: number): string | undefined {
  const behindMs = Date.parse(date ?? "") - now;
  if (Number.isNaN(behindMs) || Math.abs(behindMs) < MAX_CLOCK_SKEW_MS) return undefined;
  const minutes = Math.round(Math.abs(behindMs) / 60_000);
  const side = behindMs > 0 ? "behind" : "ahead of";
  return `this machine's clock is ${minutes} minutes ${side} Oracle's, which takes 5 at the most: set it right`;
}

/** Oracle's error codes from its page "API Errors", and Compute's own code for a lack of hosts. */
export const OCI_ERROR_CODES = {
  Throttled: new Set(["TooManyRequests"]),
  Quota: new Set(["LimitExceeded", "QuotaExceeded"]),
  Denied: new Set([
    "NotAuthenticated",
    "NotAuthorized",
    "NotAllowed",
    "SignUpRequired",
    "RelatedResourceNotAuthorizedOrNotFound",
  ]),
  Invalid: new Set([
    "CannotParseRequest",
    "InvalidParameter",
    "MissingParameter",
    "MethodNotAllowed",
    "MethodNotImplemented",
    "PayloadTooLarge",
    "RequestHeaderFieldsTooLarge",
    "UnprocessableEntity",
  ]),
  NotFound: new Set(["NotAuthorizedOrNotFound", "NotFound", "NamespaceNotFound"]),
  Conflict: new Set([
    "Conflict",
    "IncorrectState",
    "ExternalServerIncorrectState",
    "InvalidatedRetryToken",
    "NotAuthorizedOrResourceAlreadyExists",
    "ResourceLocked",
    "NoEtagMatch",
  ]),
  Unavailable: new Set([
    "InternalServerError",
    "OutOfHostCapacity",
    "ServiceUnavailable",
    "ExternalServerUnreachable",
    "ExternalServerTimeout",
    "ExternalServerInvalidResponse",
  ]),
} as const satisfies ErrorCodes;
