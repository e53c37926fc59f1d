import type { ErrorCodes } from "#clouds/http/error-meaning.ts";

/**
 * The names of Nova's faults. `overLimit` is a throttle: 413 from older releases and proxies, 429 from newer
 * ones.
 */
export const NOVA_ERROR_CODES: ErrorCodes = {
  Throttled: new Set(["overLimit"]),
  Denied: new Set(["unauthorized", "forbidden"]),
  Invalid: new Set(["badRequest", "badMethod", "badMediaType", "notImplemented"]),
  NotFound: new Set(["itemNotFound"]),
  Conflict: new Set(["conflictingRequest"]),
  Unavailable: new Set(["computeFault", "serviceUnavailable"]),
};

/** The types of Neutron's errors for networks and ports. */
export const NEUTRON_ERROR_CODES: ErrorCodes = {
  Quota: new Set(["OverQuota"]),
  Denied: new Set(["NotAuthorized", "PolicyNotAuthorized"]),
  Invalid: new Set(["InvalidInput", "HTTPBadRequest"]),
  NotFound: new Set(["NetworkNotFound", "PortNotFound"]),
  Unavailable: new Set(["ServiceUnavailable"]),
};

/** The titles of Keystone's errors, which are those of HTTP statuses. */
export const KEYSTONE_ERROR_CODES: ErrorCodes = {
  Throttled: new Set(["Too Many Requests", "Request Entity Too Large"]),
  Denied: new Set(["Unauthorized", "Forbidden"]),
  Invalid: new Set(["Bad Request"]),
  NotFound: new Set(["Not Found"]),
  Conflict: new Set(["Conflict"]),
  Unavailable: new Set(["Internal Server Error", "Service Unavailable"]),
};
