/**
 * Throttling codes of AWS's services, without the suffix `Exception`: those of the SDK's own list and of
 * Elastic Load Balancing's model. Several look like quota codes: see `QUOTA`.
 */
export const THROTTLED: ReadonlySet<string> = new Set([
  "BandwidthLimitExceeded",
  "DependencyThrottle",
  "EC2Throttled",
  "LimitExceeded",
  "PriorRequestNotComplete",
  "ProvisionedThroughputExceeded",
  "RequestLimitExceeded",
  "RequestThrottled",
  "SlowDown",
  "Throttled",
  "Throttling",
  "TooManyRequests",
  "TransactionInProgress",
]);

/**
 * Codes, without the suffix `Exception`, with which EC2 and Elastic Load Balancing say that a resource quota
 * is used up.
 */
export const QUOTA: ReadonlySet<string> = new Set([
  "AddressLimitExceeded",
  "NetworkInterfaceLimitExceeded",
  "PrivateIpAddressLimitExceeded",
  "ResourceLimitExceeded",
  "RouteLimitExceeded",
  "RulesPerSecurityGroupLimitExceeded",
  "SecurityGroupLimitExceeded",
  "SecurityGroupsPerInstanceLimitExceeded",
  "SecurityGroupsPerInterfaceLimitExceeded",
  "TagLimitExceeded",
  "TargetGroupAssociationLimit",
  "TooManyAccessPoints",
  "TooManyActions",
  "TooManyCertificates",
  "TooManyListeners",
  "TooManyLoadBalancers",
  "TooManyPolicies",
  "TooManyRegistrationsForTargetId",
  "TooManyRules",
  "TooManyTags",
  "TooManyTargetGroups",
  "TooManyTargets",
  "TooManyUniqueTargetGroupsPerLoadBalancer",
]);

/** Whether an error's code or name is in a set. */
export function isCodeIn(set: ReadonlySet<string>, code: string): boolean {
  return set.has(code.replace(/Exception$/, ""));
}

/** This operation is not allowed. */
export const UNAUTHORIZED = "UnauthorizedOperation";

/**
 * No operation is allowed. Missing, wrong or expired credentials count, because only a person can fix them.
 * They say nothing about the operation: `AccessDenied` is what STS says of a role.
 */
export const DENIED: ReadonlySet<string> = new Set([
  "AuthFailure",
  "AccessDenied",
  "AccessDeniedException",
  "Blocked",
  "CredentialsProviderError",
  "ExpiredToken",
  "ExpiredTokenException",
  "IncompleteSignature",
  "InvalidClientTokenId",
  "MissingAuthenticationToken",
  "OptInRequired",
  "PendingVerification",
  "RegionDisabledException",
  "RequestExpired",
  "SecretError",
  "SignatureDoesNotMatch",
  "UnrecognizedClientException",
]);

/** The operation does not exist here. */
export const UNSUPPORTED: ReadonlySet<string> = new Set([
  "InvalidAction",
  "UnknownOperationException",
  "UnsupportedOperation",
]);
