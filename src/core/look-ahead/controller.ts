import { NODE_EVENT_SOURCE } from "#core/contracts.ts";
import type { InstanceController } from "#core/controller.ts";
import type { CertificateSigningRequest } from "#core/csr/csr.ts";
import type { Decision } from "#core/decision.ts";
import { leaveUnchanged, planEach, retry, skip, toReference } from "#core/decisions.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import { kubeletCsrWatch, type NodeClaim, nodeClaimWatch } from "#core/look-ahead/watch.ts";
import type { Node } from "#core/node/node.ts";
import type { Resource } from "#core/resources/resource.ts";
import type { ApiObject, Watch } from "#core/watch.ts";

/** A machine joins within this time after its announcement, or its node is looked up as it joins. */
const MAX_AGE_MS = 10 * 60_000;

/** A started instance needs this long until the cloud shows all of its addresses. */
const PENDING_SECONDS = 8;

/** Looks up the machines that NodeClaims announce. */
export const nodeClaimController: InstanceController<NodeClaim> = createAnnouncementController(
  nodeClaimWatch,
  ({ metadata, status: { providerID } }) => createAnnouncedNode(metadata, { providerID }),
);

/**
 * Creates the controller that looks up the machines whose kubelets request their first certificate.
 * `readNodeName` returns the name of the node in `spec.request`, and undefined if it has none.
 */
export function createKubeletCsrController(
  readNodeName: (request: string) => string | undefined,
): InstanceController<CertificateSigningRequest> {
  return createAnnouncementController(kubeletCsrWatch, ({ metadata, spec: { request } }) => {
    const name = request === undefined ? undefined : readNodeName(request);
    return name === undefined ? undefined : createAnnouncedNode({ ...metadata, name }, {});
  });
}

function createAnnouncementController<T extends ApiObject>(
  watch: Watch<T>,
  identify: (object: T) => Node | undefined,
): InstanceController<T> {
  return {
    ...watch,
    eventSource: NODE_EVENT_SOURCE,
    buildQuestion(object, { now, settings }) {
      const isAnnounced = watch.rechecks?.announcement?.(object) !== undefined;
      const node = isAnnounced && isRecent(object, now) ? identify(object) : undefined;
      if (node === undefined) return undefined;
      const launches = settings.nodes.lookAhead.includes("launches");
      return { capability: "instances", node, ahead: "keep", launches };
    },
    decide: (batch) => planEach(batch.map(({ object, answer }) => decide(watch.resource, object, answer))),
  };
}

/** An announcement is never written to: the decision only says whether the machine is looked up again. */
function decide(resource: Resource, object: ApiObject, answer: InstanceAnswer | undefined): Decision {
  const reference = toReference(resource, object);
  if (answer === undefined) return leaveUnchanged(reference);
  if (answer.kind === "found") {
    const { state } = answer.instance;
    if (state === "pending") return retry(reference, PENDING, PENDING_SECONDS);
    return state === "running" ? leaveUnchanged(reference) : skip(reference, NOT_RUNNING);
  }
  // What exists but is not the cluster's is answered as what does not exist.
  if (answer.kind === "not-found" || !TEMPORARY.has(answer.code)) return skip(reference, NOT_FOUND);
  return retry(reference, { code: answer.code, message: UNANSWERED }, PENDING_SECONDS);
}

const PENDING = { code: "InstancePending", message: "the announced machine is starting" } as const;

const NOT_RUNNING = { code: "InstanceNotRunning", message: "the announced machine is not running" } as const;

const NOT_FOUND = { code: "NoInstance", message: "the cluster has no such machine" } as const;

const UNANSWERED = "the cloud gave no answer about the announced machine";

const TEMPORARY: ReadonlySet<string> = new Set(["Throttled", "Unavailable", "Aborted", "Denied"]);

function isRecent({ metadata: { creationTimestamp } }: ApiObject, now: Date): boolean {
  return now.getTime() - Date.parse(creationTimestamp) <= MAX_AGE_MS;
}

/** Returns the node as it will join, as far as its announcement tells. */
function createAnnouncedNode(
  { name, uid, resourceVersion, creationTimestamp }: ApiObject["metadata"],
  spec: { readonly providerID?: string | undefined },
): Node {
  return { metadata: { name, uid, resourceVersion, creationTimestamp }, spec, status: {} };
}
