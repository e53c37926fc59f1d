import { buildApproval } from "#core/csr/approval.ts";
import { type ApprovalResult, buildCondition } from "#core/csr/conditions.ts";
import type { CertificateSigningRequest } from "#core/csr/csr.ts";
import { buildRequestWarnings } from "#core/csr/events.ts";
import { listForeignNames } from "#core/csr/instance-names.ts";
import { getAgeSeconds, type Issue, MAX_AGE_SECONDS, retryAfterIssue } from "#core/csr/issues.ts";
import { needsWork } from "#core/csr/needs-work.ts";
import type { Review } from "#core/csr/review.ts";
import type { ClusterEvent, Decision } from "#core/decision.ts";
import { leaveUnchanged, skip, toReference } from "#core/decisions.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import type { Node } from "#core/node/node.ts";
import { CERTIFICATE_SIGNING_REQUESTS } from "#core/resources/resource.ts";
import { getInstanceIdFact, listUsageFacts, type TenantFact } from "#core/tenant-fact.ts";

/** The facts on which a decision depends, in addition to the request. */
export interface CsrFacts {
  readonly now: Date;
  /** Reviews the request by its own content; called only when needed. */
  review(): Review;
  /** The requesting node, if the cluster has it. */
  readonly node: Node | undefined;
  /** The cloud's answer about that node; undefined if it was not asked. */
  readonly answer: InstanceAnswer | undefined;
}

/** Returns whether a request is too old to work on; Kubernetes removes a pending one after a day. */
export function isTooOld(csr: CertificateSigningRequest, now: Date): boolean {
  return getAgeSeconds(csr, now) > MAX_AGE_SECONDS;
}

/**
 * Decides on one request for a kubelet's serving certificate. A second decision on the result of a change is
 * `unchanged`.
 */
export function decideCsr(csr: CertificateSigningRequest, facts: CsrFacts): Decision {
  const reference = toReference(CERTIFICATE_SIGNING_REQUESTS, csr);
  if (!needsWork(csr)) return leaveUnchanged(reference);
  if (isTooOld(csr, facts.now)) return skip(reference, TOO_OLD);
  return decidePending(csr, facts);
}

const TOO_OLD = { code: "TooOld", message: "the request is older than an hour; its kubelet has asked anew" };

function decidePending(csr: CertificateSigningRequest, facts: CsrFacts): Decision {
  const { node, answer, now } = facts;
  const wait = (issue: Issue, names: readonly TenantFact[] = []): Decision =>
    retryAfterIssue(csr, issue, now, { node, names });
  const review = facts.review();
  if (review.kind === "denied") {
    const verdict = { code: review.code, facts: { usages: listUsageFacts(csr) } };
    return buildDecision(csr, verdict, now, buildRequestWarnings(node, csr, review.code));
  }
  if (review.kind === "unusual") return wait(review.because);
  if (node === undefined) return wait(NODE_UNKNOWN);
  if (node.metadata.deletionTimestamp !== undefined) return wait(NODE_BEING_DELETED);
  if (answer === undefined) return wait(NO_ANSWER);
  if (answer.kind === "not-found") return wait({ code: "InstanceNotFound", message: answer.message });
  if (answer.kind === "error") return wait({ code: answer.code, message: answer.message });
  const { instance } = answer;
  if (instance.state !== "running") {
    return wait({ code: "InstanceNotRunning", message: `instance ${instance.id} is ${instance.state}` });
  }
  const others = listForeignNames(review.request, instance, node.metadata.name);
  if (others.length > 0) {
    const message = `of instance ${instance.id} the cloud does not give ${others.join(", ")}`;
    return wait({ code: "NameNotOfInstance", message }, others);
  }
  // An approval needs no Event on the node: its kubelet serves, and the request contains the reason.
  return buildDecision(
    csr,
    { code: "InstanceVerified", facts: { instance: getInstanceIdFact(instance) } },
    now,
    [],
  );
}

const NODE_UNKNOWN = {
  code: "NodeUnknown",
  message: "the cluster has no node of the requestor's name yet",
} as const;
const NODE_BEING_DELETED = {
  code: "NodeBeingDeleted",
  message: "the requestor's node is being deleted",
} as const;
const NO_ANSWER = { code: "NoAnswer", message: "the cloud has not been asked about the node" } as const;

function buildDecision(
  csr: CertificateSigningRequest,
  verdict: ApprovalResult,
  now: Date,
  events: ClusterEvent[],
): Decision {
  return {
    kind: "change",
    object: toReference(CERTIFICATE_SIGNING_REQUESTS, csr),
    because: buildCondition(verdict).because,
    writes: [buildApproval(csr, verdict, now)],
    events,
    warnings: [],
  };
}
