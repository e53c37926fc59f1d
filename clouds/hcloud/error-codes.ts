import type { ErrorCodes } from "#clouds/http/error-meaning.ts";

/**
 * Hetzner's error codes that any request may return, as hcloud-go lists them; codes of single actions that
 * are not used are left out.
 */
export const HETZNER_ERROR_CODES: ErrorCodes = {
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
