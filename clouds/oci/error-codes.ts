import type { ErrorCodes } from "#clouds/http/error-meaning.ts";

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
