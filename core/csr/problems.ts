import type { CodeOf } from "#core/cluster-events.ts";
import type { CertificateSigningRequest } from "#core/csr/csr.ts";
import { warnOfRequest } from "#core/csr/events.ts";
import type { Decision } from "#core/decision.ts";
import { referenceTo, retry } from "#core/decisions.ts";
import type { Node } from "#core/node/node.ts";
import { CERTIFICATE_SIGNING_REQUESTS } from "#core/resources/resource.ts";
import type { TenantFact } from "#core/tenant-fact.ts";

/** What keeps us from approving a request now: a code of the table below, and a sentence for the operator. */
export interface Problem {
  readonly code: ProblemCode;
  readonly message: string;
}

export type ProblemCode = keyof typeof PROBLEMS;

/** Seconds after which a request is not looked at any more; the kubelet has asked anew long before. */
export const MAX_AGE_SECONDS = 3_600;

/** Seconds since the request was made; 0 for one whose creation is unreadable or in the future. */
export function ageInSeconds({ metadata }: CertificateSigningRequest, now: Date): number {
  const age = (now.getTime() - Date.parse(metadata.creationTimestamp)) / 1_000;
  return Number.isNaN(age) ? 0 : Math.max(age, 0);
}

/**
 * Leaves the request pending and comes back once it is twice as old, which needs no memory of past tries: some
 * twenty times within the hour. The Warning says nothing of what the cloud said, which is for the operator, but `names`.
 */
export function retryAfterProblem(
  csr: CertificateSigningRequest,
  problem: Problem,
  now: Date,
  { node, names }: { readonly node: Node | undefined; readonly names: readonly TenantFact[] },
): Decision {
  const { fromSeconds, warning, lastsSeconds = 0 }: Handling = PROBLEMS[problem.code];
  const age = ageInSeconds(csr, now);
  const afterSeconds = Math.round(Math.min(MAX_WAIT_SECONDS, Math.max(fromSeconds, age)) * 10) / 10;
  const isWarned = warning !== undefined && age >= lastsSeconds;
  const events = isWarned ? warnOfRequest(node, csr, warning, names) : [];
  return retry(referenceTo(CERTIFICATE_SIGNING_REQUESTS, csr), problem, afterSeconds, events);
}

interface Handling {
  /** The first waits; later ones grow with the request's age. */
  readonly fromSeconds: number;
  /** The node's Event, whoever may read it; without it there is none. */
  readonly warning?: CodeOf<"ServingCertificate">;
  /** Seconds of age before that: it may well pass by itself. */
  readonly lastsSeconds?: number;
}

const LASTING_SECONDS = 60;
const MAX_WAIT_SECONDS = 300;

/**
 * Of an instance that is somebody else's, of one that may not be seen and of one that does not exist the same is said, at the same
 * times: a node may name any instance, and must not find out by it which there are.
 */
const NO_INSTANCE = {
  fromSeconds: 1,
  warning: "InstanceNotFound",
  lastsSeconds: LASTING_SECONDS,
} satisfies Handling;

const PROBLEMS = {
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
} as const satisfies Readonly<Record<string, Handling>>;
