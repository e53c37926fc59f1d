import type { ErrorCodes } from "#clouds/http/error-meaning.ts";

/** The reasons of Kubernetes' `Status`, as apimachinery lists them. */
export const KUBERNETES_ERROR_CODES: ErrorCodes = {
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
export const RANCHER_ERROR_CODES: ErrorCodes = {
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
