import type { ErrorCodes } from "#clouds/http/error-meaning.ts";

/**
 * DigitalOcean's error ids, from its API reference. Quotas have no id: a limit is `unprocessable_entity` or
 * `forbidden`.
 */
export const DIGITALOCEAN_ERROR_CODES: ErrorCodes = {
  Throttled: new Set(["too_many_requests"]),
  Denied: new Set(["unauthorized", "forbidden"]),
  Invalid: new Set(["bad_request", "unprocessable_entity"]),
  NotFound: new Set(["not_found"]),
  Conflict: new Set(["conflict"]),
  Unavailable: new Set(["server_error", "internal_server_error", "service_unavailable"]),
};

/**
 * Matches the message of a 403 `forbidden` about a load balancer with a change in progress. It is temporary,
 * says nothing about permissions, and has no id of its own.
 */
export const BUSY_LOAD_BALANCER = /processes previous actions/;
