import type { CodeOf } from "#core/cluster-events.ts";
import type { CertificateSigningRequest } from "#core/csr/csr.ts";
import { buildRequestWarnings } from "#core/csr/request-warnings.ts";
import type { Decision } from "#core/decision.ts";
import { retry, toReference } from "#core/decisions.ts";
import type { Node } from "#core/node/node.ts";
import { CERTIFICATE_SIGNING_REQUESTS } from "#core/resources/resource.ts";
import type { TenantFact } from "#core/tenant-fact.ts";

/**
 * A reason why a request cannot be approved now: a code of the table below, and a sentence for the operator.
 */
export interface Issue {
  readonly code: IssueCode;
  readonly message: string;
}

export type IssueCode = keyof typeof ISSUES;

/** Seconds after which a request is ignored; the kubelet creates a new one long before. */
export const MAX_AGE_SECONDS = 3_600;

/** Returns the seconds since the request was created; 0 if that time is unreadable or in the future. */
export function getAgeSeconds({ metadata }: CertificateSigningRequest, now: Date): number {
  const age = (now.getTime() - Date.parse(metadata.creationTimestamp)) / 1_000;
  return Number.isNaN(age) ? 0 : Math.max(age, 0);
}

/**
 * Leaves the request pending and retries when it is twice as old: about twenty times within the hour, without
 * a record of past tries. The Warning contains no answer of the cloud except `names`; the rest is for the
 * operator.
 */
export function retryAfterIssue(
  csr: CertificateSigningRequest,
  issue: Issue,
  now: Date,
  { node, names }: { readonly node: Node | undefined; readonly names: readonly TenantFact[] },
): Decision {
  const { fromSeconds, warning, lastsSeconds = 0 }: RetryPolicy = ISSUES[issue.code];
  const age = getAgeSeconds(csr, now);
  const afterSeconds = Math.round(Math.min(MAX_WAIT_SECONDS, Math.max(fromSeconds, age)) * 10) / 10;
  const isWarned = warning !== undefined && age >= lastsSeconds;
  const events = isWarned ? buildRequestWarnings(node, csr, warning, names) : [];
  return retry(toReference(CERTIFICATE_SIGNING_REQUESTS, csr), issue, afterSeconds, events);
}

interface RetryPolicy {
  /** The first intervals; later ones grow with the request's age. */
  readonly fromSeconds: number;
  /** The Event on the node, readable by users of the cluster; by default none. */
  readonly warning?: CodeOf<"ServingCertificate">;
  /** The age in seconds from which it is reported; before that it may resolve by itself. */
  readonly lastsSeconds?: number;
}

const LASTING_SECONDS = 60;
const MAX_WAIT_SECONDS = 300;

/**
 * A foreign, an invisible and a nonexistent instance get equal messages at equal times. A node can name any
 * instance, and must not learn which ones exist.
 */
const NO_INSTANCE = {
  fromSeconds: 1,
  warning: "InstanceNotFound",
  lastsSeconds: LASTING_SECONDS,
} satisfies RetryPolicy;

const ISSUES = {
  RequestTooLarge: { fromSeconds: 300, warning: "RequestTooLarge" },
  RequestUnreadable: { fromSeconds: 300, warning: "RequestUnreadable" },
  RequestUnusual: { fromSeconds: 300, warning: "RequestUnusual" },
  NodeUnknown: { fromSeconds: 2 },
  NodeBeingDeleted: { fromSeconds: 30 },
  NoAnswer: { fromSeconds: 1 },
  InstanceNotFound: NO_INSTANCE,
  InstanceNotRunning: { fromSeconds: 2, warning: "InstanceNotRunning", lastsSeconds: LASTING_SECONDS },
  Foreign: NO_INSTANCE,
  Ambiguous: { fromSeconds: 30, warning: "Ambiguous" },
  ForeignProviderID: { fromSeconds: 30, warning: "ForeignProviderID" },
  InvalidProviderID: { fromSeconds: 30, warning: "InvalidProviderID" },
  InvalidAddress: { fromSeconds: 30 },
  Denied: NO_INSTANCE,
  Throttled: { fromSeconds: 3 },
  Unavailable: { fromSeconds: 2 },
  Aborted: { fromSeconds: 0.5 },
  NameNotOfInstance: { fromSeconds: 5, warning: "NameNotOfInstance" },
} as const satisfies Readonly<Record<string, RetryPolicy>>;
