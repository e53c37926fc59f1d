import type { ErrorCodes } from "#clouds/http/error-meaning.ts";

/** The ids of DigitalOcean's errors, by its API reference. It has none for quotas: a limit is `unprocessable_entity` or `forbidden`. */
export const DIGITALOCEAN_ERROR_CODES: ErrorCodes = {
  Throttled: new Set(["too_many_requests"]),
  Denied: new Set(["unauthorized", "forbidden"]),
  Invalid: new Set(["bad_request", "unprocessable_entity"]),
  NotFound: new Set(["not_found"]),
  Conflict: new Set(["conflict"]),
  Unavailable: new Set(["server_error", "internal_server_error", "service_unavailable"]),
};

/**
 * Matches the words of a 403 `forbidden` about a load balancer that is still being changed. It says nothing of permissions and passes;
 * there is no id of its own for it.
 */
export const BUSY_LOAD_BALANCER = /processes previous actions/;
