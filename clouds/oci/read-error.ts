import * as z from "zod";
import type { ReadCloudError } from "#clouds/http/classify.ts";
import { findMeaning } from "#clouds/http/error-meaning.ts";
import type { Fault } from "#clouds/http/outcome.ts";
import { OCI_ERROR_CODES } from "#clouds/oci/error-codes.ts";

/** As Oracle words its errors. */
const ErrorBody = z.object({ code: z.string(), message: z.string().optional().catch(undefined) });

/** Oracle refuses what was signed earlier or later than this. */
const MAX_CLOCK_SKEW_MS = 5 * 60_000;

/**
 * Oracle's own error in an answer, where it is one. To a refusal it adds how far this machine's clock is off, as a wrong clock looks
 * like a wrong key. `wallClock` is milliseconds since the epoch.
 */
export function readErrorAt(wallClock: () => number): ReadCloudError {
  return (body, { status, headers }) => {
    const { success, data } = ErrorBody.safeParse(body);
    if (!success) return undefined;
    const clock = status === 401 ? clockTrouble(headers["date"], wallClock()) : undefined;
    const words = [clock, data.message].filter((each) => each !== undefined);
    return {
      ...{ id: data.code, message: words.join("; "), requestId: headers["opc-request-id"] },
      meaning: findMeaning(OCI_ERROR_CODES, data.code),
    };
  };
}

/** Whether Oracle itself says "not found", which is also what it says of what may not be seen; a 404 of anything in between says nothing. */
export function isNotFound({ status, errorId }: Pick<Fault, "status" | "errorId">): boolean {
  return status === 404 && errorId === "NotAuthorizedOrNotFound";
}

/** Whether Oracle says that the user may not do this; it answers "not found" of what a user may not see. */
export function isDenied(fault: Pick<Fault, "status" | "errorId">): boolean {
  return isNotFound(fault) || fault.status === 403;
}

function clockTrouble(date: string | undefined, now: number): string | undefined {
  const behindMs = Date.parse(date ?? "") - now;
  if (Number.isNaN(behindMs) || Math.abs(behindMs) < MAX_CLOCK_SKEW_MS) return undefined;
  const minutes = Math.round(Math.abs(behindMs) / 60_000);
  const side = behindMs > 0 ? "behind" : "ahead of";
  return `this machine's clock is ${minutes} minutes ${side} Oracle's, which takes 5 at the most: set it right`;
}
