import type { ErrorCodes } from "#clouds/http/error-meaning.ts";

/** The codes of Hetzner's errors that any request may have, as hcloud-go lists them; those of single actions are not ours to meet. */
export const HETZNER_ERROR_CODES: ErrorCodes = {
  // The latter is what the former was called before.
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
