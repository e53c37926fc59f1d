import type { InstanceController } from "#core/controller.ts";
import { type ApprovalResult, buildCondition, type DenialCode, needsWork } from "#core/csr/conditions.ts";
import {
  type CertificateRequest,
  type CertificateSigningRequest,
  MAX_REQUEST_LENGTH,
  NODES_GROUP,
  type ParseCertificateRequest,
} from "#core/csr/csr.ts";
import {
  getAgeSeconds,
  type Issue,
  type IssueCode,
  MAX_AGE_SECONDS,
  retryAfterIssue,
} from "#core/csr/issues.ts";
import { buildRequestWarnings, limitRequestWarnings } from "#core/csr/request-warnings.ts";
import { csrWatch, findRequestingNode } from "#core/csr/watch.ts";
import type { ApproveWrite, ClusterEvent, Decision } from "#core/decision.ts";
import { leaveUnchanged, planEach, skip, toReference } from "#core/decisions.ts";
import type { Instance, InstanceAnswer } from "#core/instance.ts";
import { isSameIp, parseIp } from "#core/ip.ts";
import { add, test } from "#core/json-patch.ts";
import type { Node } from "#core/node/node.ts";
import { CERTIFICATE_SIGNING_REQUESTS } from "#core/resources/resource.ts";
import {
  getInstanceIdFact,
  listRequestedNameFacts,
  listUsageFacts,
  type TenantFact,
} from "#core/tenant-fact.ts";

/**
 * Creates the csr-approver, which decides on serving certificates of kubelets by the cloud's facts about
 * their instances. Parsing ASN.1 needs a library, which the core must not import: the caller supplies it.
 */
export function createCsrController(
  parseRequest: ParseCertificateRequest,
): InstanceController<CertificateSigningRequest> {
  // Question and decision both read the request, which is parsed once.
  const reviews = new WeakMap<CertificateSigningRequest, Review>();
  const reviewOf = (csr: CertificateSigningRequest): Review => {
    const review = reviews.get(csr) ?? reviewRequest(csr, parseRequest);
    reviews.set(csr, review);
    return review;
  };
  return {
    ...csrWatch,
    eventSource: csrWatch.name,
    buildQuestion: (csr, { related, now }) => {
      if (!needsWork(csr) || isTooOld(csr, now) || reviewOf(csr).kind !== "names") return undefined;
      const node = findRequestingNode(csr, related);
      if (node === undefined || node.metadata.deletionTimestamp !== undefined) return undefined;
      return { capability: "instances", node };
    },
    decide: (batch, { now, related }) =>
      planEach(
        limitRequestWarnings(
          batch.map(({ object: csr, answer }) =>
            decideCsr(csr, {
              now,
              review: () => reviewOf(csr),
              node: findRequestingNode(csr, related),
              answer,
            }),
          ),
        ),
      ),
  };
}

/**
 * Returns the names and addresses in a request that neither belong to the instance in the cloud nor are the
 * node's own name.
 */
function listForeignNames(
  request: CertificateRequest,
  { addresses }: Instance,
  nodeName: string,
): TenantFact[] {
  const { dnsNames, ipAddresses } = listRequestedNameFacts(request);
  const own = new Set([nodeName, ...addresses.map(({ address }) => address.toLowerCase())]);
  const ownIps = addresses.flatMap(({ address }) => parseIp(address) ?? []);
  return [
    ...dnsNames.filter((name) => !own.has(name.toLowerCase()) || parseIp(name) !== undefined),
    ...ipAddresses.filter((address) => {
      const ip = parseIp(address);
      return ip === undefined || !ownIps.some((each) => isSameIp(each, ip));
    }),
  ];
}

/** The facts on which a decision depends, in addition to the request. */
interface CsrFacts {
  readonly now: Date;
  /** Reviews the request by its own content; called only when needed. */
  review(): Review;
  /** The requesting node, if the cluster has it. */
  readonly node: Node | undefined;
  /** The cloud's answer about that node; undefined if it was not asked. */
  readonly answer: InstanceAnswer | undefined;
}

/** Returns whether a request is too old to work on; Kubernetes removes a pending one after a day. */
function isTooOld(csr: CertificateSigningRequest, now: Date): boolean {
  return getAgeSeconds(csr, now) > MAX_AGE_SECONDS;
}

/**
 * Decides on one request for a kubelet's serving certificate. A second decision on the result of a change is
 * `unchanged`.
 */
function decideCsr(csr: CertificateSigningRequest, facts: CsrFacts): Decision {
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

/** The review of a request by its own content, before its names are checked against the cloud. */
type Review =
  | { readonly kind: "names"; readonly request: CertificateRequest }
  /** It is invalid whatever node and cloud say: Kubernetes' own rules for this signer reject it. */
  | { readonly kind: "denied"; readonly code: DenialCode }
  /** Kubelets create no such request, but it breaks no rule. */
  | { readonly kind: "unusual"; readonly because: { readonly code: IssueCode; readonly message: string } };

/** Reviews a node's request for its serving certificate. */
function reviewRequest({ spec }: CertificateSigningRequest, parseRequest: ParseCertificateRequest): Review {
  if (!ALLOWED_USAGES.has(listUsageFacts({ spec }).join(", "))) return denyRequest("UsagesForbidden");
  if (spec.request === undefined) {
    return holdRequest("RequestTooLarge", `the request is longer than ${MAX_REQUEST_LENGTH} characters`);
  }
  const parsed = parseRequest(spec.request);
  if (parsed.kind === "unreadable") return holdRequest("RequestUnreadable", parsed.message);
  const { request } = parsed;
  const fault = REQUEST_CHECKS.find(({ isIn }) => isIn(request, spec.username));
  if (fault !== undefined) return denyRequest(fault.code);
  if (request.others.length > 0) {
    return holdRequest(
      "RequestUnusual",
      `the request has what no kubelet asks for: ${request.others.join(", ")}`,
    );
  }
  return { kind: "names", request };
}

/** Sorted, each set as one text. */
const ALLOWED_USAGES: ReadonlySet<string> = new Set([
  "digital signature, key encipherment, server auth",
  "digital signature, server auth",
]);

interface RequestCheck {
  readonly code: DenialCode;
  isIn(request: CertificateRequest, username: string): boolean;
}

/** In the order of the checks; the first match is reported. */
const REQUEST_CHECKS: readonly RequestCheck[] = [
  {
    code: "CommonNameNotRequestor",
    isIn: ({ commonNames }, username) => commonNames.length !== 1 || commonNames[0] !== username,
  },
  {
    code: "OrganizationForbidden",
    isIn: ({ organizations }) => organizations.length !== 1 || organizations[0] !== NODES_GROUP,
  },
  {
    code: "EmailAddressForbidden",
    isIn: ({ emailAddresses }) => emailAddresses.length > 0,
  },
  {
    code: "URIForbidden",
    isIn: ({ uris }) => uris.length > 0,
  },
  {
    code: "WildcardForbidden",
    isIn: ({ dnsNames }) => dnsNames.some((name) => name.includes("*")),
  },
  {
    code: "NoNames",
    isIn: ({ dnsNames, ipAddresses }) => dnsNames.length + ipAddresses.length === 0,
  },
];

function denyRequest(code: DenialCode): Review {
  return { kind: "denied", code };
}

function holdRequest(code: IssueCode, message: string): Review {
  return { kind: "unusual", because: { code, message } };
}

/**
 * Returns the one patch that approves or denies a request. It is rejected if the name now belongs to another
 * request, or if a decision already exists: conditions of these types can never be removed.
 */
export function buildApproval(
  { metadata: { name, uid } }: CertificateSigningRequest,
  verdict: ApprovalResult,
  now: Date,
): ApproveWrite {
  const lastUpdateTime = `${now.toISOString().slice(0, 19)}Z`;
  const { type, because } = buildCondition(verdict);
  const condition = { type, status: "True", reason: because.code, message: because.message, lastUpdateTime };
  return {
    on: "cluster",
    apiVersion: CERTIFICATE_SIGNING_REQUESTS.apiVersion,
    resource: CERTIFICATE_SIGNING_REQUESTS.name,
    name,
    verb: "approve",
    precondition: [test("/metadata/uid", uid), test("/status/conditions", null)],
    patch: [add("/status/conditions", [condition])],
  };
}
