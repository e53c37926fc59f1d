import * as z from "zod";
import type { ApiError } from "#clouds/http/classify.ts";
import { type ErrorCodes, findMeaning } from "#clouds/http/outcome.ts";

/** The format of Kubernetes' errors, and with `type: error` of Rancher's own. */
const Status = z.object({
  kind: z.literal("Status"),
  reason: z.string().optional().catch(undefined),
  message: z.string().optional().catch(undefined),
});

const RancherError = z.object({
  type: z.literal("error"),
  code: z.string().optional().catch(undefined),
  message: z.string().nullish().catch(undefined),
});

/**
 * Reads the error of a Kubernetes API or of Rancher from the body of an answer; undefined for any
 * other body.
 */
export function readError(body: unknown): ApiError | undefined {
  const status = Status.safeParse(body).data;
  if (status !== undefined) {
    const { reason, message } = status;
    return { id: reason, message, meaning: findMeaning(KUBERNETES_ERROR_CODES, reason) };
  }
  const error = RancherError.safeParse(body).data;
  if (error === undefined) return undefined;
  const { code, message } = error;
  return { id: code, message: message ?? undefined, meaning: findMeaning(RANCHER_ERROR_CODES, code) };
}

/** The reasons of Kubernetes' `Status`, as apimachinery lists them. */
const KUBERNETES_ERROR_CODES: ErrorCodes = {
  Throttled: new Set(["TooManyRequests"]),
  Denied: new Set(["Unauthorized", "Forbidden"]),
  Invalid: new Set([
    "BadRequest",
    "Invalid",
    "MethodNotAllowed",
    "NotAcceptable",
    "RequestEntityTooLarge",
    "UnsupportedMediaType",
  ]),
  NotFound: new Set(["NotFound"]),
  Conflict: new Set(["AlreadyExists", "Conflict"]),
  Unavailable: new Set([
    "Expired",
    "Gone",
    "InternalError",
    "StoreReadError",
    "ServiceUnavailable",
    "ServerTimeout",
    "Timeout",
  ]),
};

/** Codes of Rancher's own errors. `MaxLimitExceeded` means a number out of range, not a quota. */
const RANCHER_ERROR_CODES: ErrorCodes = {
  Denied: new Set(["Unauthorized", "PermissionDenied", "Forbidden"]),
  Invalid: new Set([
    "InvalidBodyContent",
    "InvalidCharacters",
    "InvalidFormat",
    "InvalidOption",
    "InvalidType",
    "MaxLengthExceeded",
    "MaxLimitExceeded",
    "MinLengthExceeded",
    "MinLimitExceeded",
    "MissingRequired",
    "NotNullable",
    "MethodNotAllowed",
  ]),
  NotFound: new Set(["NotFound"]),
  Conflict: new Set(["NotUnique", "ActionNotAvailable", "InvalidReference", "InvalidState"]),
  Unavailable: new Set(["ServerError", "ClusterUnavailable"]),
};
