import { approvalOf } from "#core/csr/approval.ts";
import { conditionOf, type Verdict } from "#core/csr/conditions.ts";
import type { CertificateSigningRequest } from "#core/csr/csr.ts";
import { warnOfRequest } from "#core/csr/events.ts";
import { namesOfOthers } from "#core/csr/instance-names.ts";
import { needsWork } from "#core/csr/needs-work.ts";
import { ageInSeconds, MAX_AGE_SECONDS, type Problem, retryAfterProblem } from "#core/csr/problems.ts";
import type { Review } from "#core/csr/review.ts";
import type { ClusterEvent, Decision } from "#core/decision.ts";
import { referenceTo, skip, unchanged } from "#core/decisions.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import type { Node } from "#core/node/node.ts";
import { CERTIFICATE_SIGNING_REQUESTS } from "#core/resources/resource.ts";
import { instanceIdOf, type TenantFact, usagesOf } from "#core/tenant-fact.ts";

/** What a decision depends on beside the request itself. */
export interface CsrFacts {
  readonly now: Date;
  /** What the request is by itself; asked for only where it is worth a look. */
  review(): Review;
  /** The node that makes it, where the cluster has that. */
  readonly node: Node | undefined;
  /** The cloud's answer for that node; undefined where it was not asked. */
  readonly answer: InstanceAnswer | undefined;
}

/** Whether a request is too old to be looked at; Kubernetes takes a pending one away after a day. */
export function isTooOld(csr: CertificateSigningRequest, now: Date): boolean {
  return ageInSeconds(csr, now) > MAX_AGE_SECONDS;
}

/** Decides on one request for a kubelet's serving certificate. Deciding again on the result of a change gives `unchanged`. */
export function decideCsr(csr: CertificateSigningRequest, facts: CsrFacts): Decision {
  const reference = referenceTo(CERTIFICATE_SIGNING_REQUESTS, csr);
  if (!needsWork(csr)) return unchanged(reference);
  if (isTooOld(csr, facts.now)) return skip(reference, TOO_OLD);
  return decidePending(csr, facts);
}

const TOO_OLD = { code: "TooOld", message: "the request is older than an hour; its kubelet has asked anew" };

function decidePending(csr: CertificateSigningRequest, facts: CsrFacts): Decision {
  const { node, answer, now } = facts;
  const wait = (problem: Problem, names: readonly TenantFact[] = []): Decision =>
    retryAfterProblem(csr, problem, now, { node, names });
  const review = facts.review();
  if (review.kind === "denied") {
    const verdict = { code: review.code, facts: { usages: usagesOf(csr) } };
    return decided(csr, verdict, now, warnOfRequest(node, csr, review.code));
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
  const others = namesOfOthers(review.request, instance, node.metadata.name);
  if (others.length > 0) {
    const message = `of instance ${instance.id} the cloud does not give ${others.join(", ")}`;
    return wait({ code: "NameNotOfInstance", message }, others);
  }
  // Nobody records an approval on the node: its kubelet serves, and the request itself says why.
  return decided(csr, { code: "InstanceVerified", facts: { instance: instanceIdOf(instance) } }, now, []);
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

function decided(
  csr: CertificateSigningRequest,
  verdict: Verdict,
  now: Date,
  events: ClusterEvent[],
): Decision {
  return {
    kind: "change",
    object: referenceTo(CERTIFICATE_SIGNING_REQUESTS, csr),
    because: conditionOf(verdict).because,
    writes: [approvalOf(csr, verdict, now)],
    events,
    warnings: [],
  };
}
