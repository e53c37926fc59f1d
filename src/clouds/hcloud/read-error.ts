import * as z from "zod";
import type { ApiError } from "#clouds/http/classify.ts";
import { type ErrorCodes, findMeaning } from "#clouds/http/outcome.ts";

/** The format of Hetzner's errors. */
const ErrorBody = z.object({
  error: z.object({ code: z.string(), message: z.string().optional().catch(undefined) }),
});

/** Reads Hetzner's error from the body of an answer; undefined for any other body. */
export function readError(body: unknown): ApiError | undefined {
  const { success, data } = ErrorBody.safeParse(body);
  if (!success) return undefined;
  const { code, message } = data.error;
  return { id: code, message, meaning: findMeaning(HETZNER_ERROR_CODES, code) };
}

/**
 * Hetzner's error codes that any request may return, as hcloud-go lists them; codes of single actions that
 * are not used are left out.
 */
const HETZNER_ERROR_CODES: ErrorCodes = {
  // The second code is the former name of the first.
  Throttled: new Set(["rate_limit_exceeded", "limit_reached"]),
  Quota: new Set(["resource_limit_exceeded"]),
  Denied: new Set(["unauthorized", "forbidden", "token_readonly", "protected", "resource_locked"]),
  Invalid: new Set(["invalid_input", "json_error", "unsupported_error", "deprecated_api_endpoint"]),
  NotFound: new Set(["not_found"]),
  Conflict: new Set(["conflict", "locked", "uniqueness_error"]),
  Unavailable: new Set([
    "server_error",
    "service_error",
    "unknown_error",
    "bad_gateway",
    "timeout",
    "maintenance",
    "resource_unavailable",
    "robot_unavailable",
  ]),
};
