import type { CloudFault, OutcomeOf } from "#clouds/outcome.ts";
import type { InstanceAnswer } from "#core/instance.ts";

/** Why a request to AWS brought nothing, in the words of an answer. */
export interface Fault extends CloudFault {
  /** The service said, of this operation and of it alone, that it is not to be had here or for us. */
  readonly refused?: true;
  /** Among the ids asked for are some that the service does not have; it answers none of the others then. */
  readonly unknownIds?: true;
  /** What the SDK threw, where it did. */
  readonly thrown?: unknown;
}

/** What a request brought. */
export type Outcome<Value> = OutcomeOf<Value, Fault>;

/** The request was given up. */
export function abortedFault(operation: string): Fault {
  return { code: "Aborted", message: `${operation}: aborted before AWS answered` };
}

/** The same fault as a node's answer. */
export function answerOf({ code, message }: Fault): InstanceAnswer {
  return { kind: "error", code, message };
}

/** Classifies whatever the SDK threw at `operation`. */
export function classify(error: unknown, operation: string): Fault {
  const { name, status, message } = partsOf(error);
  const text = `${operation}: ${message}`;
  if (isCodeIn(THROTTLED, name) || status === 429) return { code: "Throttled", message: text };
  if (name === UNAUTHORIZED) return { code: "Denied", message: text, refused: true };
  if (DENIED.has(name)) return { code: "Denied", message: text };
  if (UNSUPPORTED.has(name)) return { code: "Unavailable", message: text, refused: true };
  if (UNKNOWN_IDS.test(name)) return { code: "Unavailable", message: text, unknownIds: true };
  if (status === 401 || status === 403) return { code: "Denied", message: text };
  if (status === undefined || status >= 500) return { code: "Unavailable", message: text, transient: true };
  return { code: "Unavailable", message: text };
}

/**
 * The codes, without `Exception` at their ends, with which AWS's services say: too fast. They are those of the SDK's own list, and those of
 * Elastic Load Balancing's model that say the same. Several look like codes of quotas: see `QUOTA`.
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

/** The codes, without `Exception` at their ends, with which EC2 and Elastic Load Balancing say that there are as many of something as may be. */
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

/** Whether an error's code or name is in one of these sets. */
export function isCodeIn(set: ReadonlySet<string>, code: string): boolean {
  return set.has(code.replace(/Exception$/, ""));
}

/** … you may not do this. */
export const UNAUTHORIZED = "UnauthorizedOperation";

/**
 * … you may do nothing; credentials that are missing, wrong or expired are among them, as only somebody's action mends
 * them. They say nothing of the operation: `AccessDenied` is what STS says of a role.
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

/** … there is no such thing here. */
export const UNSUPPORTED: ReadonlySet<string> = new Set([
  "InvalidAction",
  "UnknownOperationException",
  "UnsupportedOperation",
]);

/** … there is no such instance, or no id looks like that. */
const UNKNOWN_IDS = /^InvalidInstanceID\b/;

/** The SDK's errors carry the service's code as `name` and the HTTP status, if there was an answer at all, in `$metadata`. */
function partsOf(error: unknown): { name: string; status: number | undefined; message: string } {
  if (!(error instanceof Error)) return { name: "", status: undefined, message: String(error) };
  const { $metadata } = error as Error & { readonly $metadata?: { readonly httpStatusCode?: number } };
  const [line = ""] = error.message.split("\n");
  const message = error.name === "Error" ? line : `${error.name}: ${line}`;
  return { name: error.name, status: $metadata?.httpStatusCode, message: message.slice(0, 500) };
}
