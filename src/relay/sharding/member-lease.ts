import * as z from "zod";
import { REPLICA_LABEL } from "#core/contracts.ts";
import { parseJson } from "#core/parse-json.ts";
import { formatCreationPath, formatObjectPath, LEASES } from "#core/resources/resource.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";
import { type Answer, classifyAnswer, type FailedAnswer } from "#kube/client/answer.ts";
import type { ApiRequest, ApiResponse, Transport } from "#kube/client/transport.ts";
import { getMetadata } from "#kube/follow/object-key.ts";

/** Writes the Lease that shows other replicas that this replica is alive. */
export interface ReplicaLeaseClient {
  /** Creates the Lease, renews it, or takes it over from another process of the same name. */
  renew(now: Date, signal: AbortSignal): Promise<Renewal>;
  /** Deletes the Lease if this process still holds it. */
  release(signal: AbortSignal): Promise<void>;
}

export type Renewal =
  | { readonly kind: "renewed" }
  /**
   * Another process of the same name overwrote the Lease since this process wrote it, and this process has now
   * overwritten it in turn. `holder` is the other process.
   */
  | { readonly kind: "taken-back"; readonly holder: string }
  | { readonly kind: "failed"; readonly message: string };

export interface ReplicaLeaseClientOptions {
  readonly transport: Pick<Transport, "send">;
  readonly namespace: string;
  /** The name of the replica and of its Lease. */
  readonly name: string;
  /** Identifies this process among others of the same name: the Lease's `holderIdentity`. */
  readonly holder: string;
}

/** Other replicas declare a silent replica gone after a few seconds, so a request must be shorter. */
export const REQUEST_TIMEOUT_MS = 2_000;

/**
 * Maximum number of attempts to delete the Lease. An abandoned renewal may still arrive between the read and
 * the deletion, which then conflicts.
 */
const MAX_RELEASE_ATTEMPTS = 3;

/**
 * Creates the client and sends nothing yet. An update carries the resourceVersion that it replaces; without
 * one, the client creates the Lease.
 */
export function createReplicaLeaseClient({
  transport,
  namespace,
  name,
  holder,
}: ReplicaLeaseClientOptions): ReplicaLeaseClient {
  const path = formatObjectPath(LEASES, { namespace, name });
  let lastResourceVersion: string | undefined;
  let hasHeld = false;

  async function sendRequest(
    request: ApiRequest,
  ): Promise<{ readonly answer: Answer; readonly body: string }> {
    try {
      const response: ApiResponse = await transport.send({ ...request, timeoutMs: REQUEST_TIMEOUT_MS });
      return { answer: classifyAnswer(response), body: response.body };
    } catch (error) {
      // An error in this code counts as an unavailable API server too: it must not end the renewals, after
      // which the replica would count as gone.
      return { answer: { kind: "unavailable", code: undefined, message: getErrorMessage(error) }, body: "" };
    }
  }

  async function write(now: Date, replacedVersion: string | undefined, signal: AbortSignal): Promise<Answer> {
    const body = buildReplicaLease(name, holder, now, replacedVersion);
    const request: ApiRequest =
      replacedVersion === undefined
        ? { method: "POST", path: formatCreationPath(LEASES, namespace), body, signal }
        : { method: "PUT", path, body, signal };
    const { answer } = await sendRequest(request);
    lastResourceVersion = answer.kind === "applied" ? answer.metadata?.resourceVersion : undefined;
    hasHeld ||= answer.kind === "applied";
    return answer;
  }

  async function read(signal: AbortSignal) {
    const { answer, body } = await sendRequest({ method: "GET", path, signal });
    if (answer.kind !== "applied") return { answer };
    const object = parseJson(body);
    const { resourceVersion, uid } = getMetadata(object);
    return { answer, lease: parseReplicaLease(object), resourceVersion, uid };
  }

  return {
    async renew(now, signal) {
      let answer = await write(now, lastResourceVersion, signal);
      if (answer.kind === "gone") answer = await write(now, undefined, signal);
      if (answer.kind === "applied") return { kind: "renewed" };
      if (answer.kind !== "conflict" && answer.kind !== "exists") return toFailedRenewal(answer);
      const found = await read(signal);
      if (found.answer.kind !== "applied") return toFailedRenewal(found.answer);
      if (found.lease === undefined || typeof found.resourceVersion !== "string")
        return { kind: "failed", message: `the Lease ${namespace}/${name} exists, and is not a replica's` };
      const otherHolder = hasHeld && found.lease.holder !== holder ? found.lease.holder : undefined;
      answer = await write(now, found.resourceVersion, signal);
      if (answer.kind !== "applied") return toFailedRenewal(answer);
      return otherHolder === undefined ? { kind: "renewed" } : { kind: "taken-back", holder: otherHolder };
    },
    async release(signal) {
      for (let attempts = 0; attempts < MAX_RELEASE_ATTEMPTS; attempts += 1) {
        const { lease, resourceVersion, uid } = await read(signal);
        if (lease?.holder !== holder) return;
        const body = { preconditions: { uid, resourceVersion } };
        const { answer } = await sendRequest({ method: "DELETE", path, body, signal });
        if (answer.kind !== "conflict") return;
      }
    },
  };
}

function toFailedRenewal(answer: FailedAnswer): Renewal {
  return { kind: "failed", message: answer.message };
}

/** The content of a replica's Lease: the process that renews it, and what identifies this renewal. */
export interface ReplicaLease {
  /**
   * Identifies the process. The name alone identifies the replica, and two processes may share it by mistake.
   */
  readonly holder: string;
  readonly renewal: string;
}

/** Informative only; lease-membership.ts defines how long replicas wait for each other. */
const LEASE_SECONDS = 5;

/** Parses the Lease of a replica; undefined for any other object. */
export function parseReplicaLease(object: unknown): ReplicaLease | undefined {
  const parsed = Lease.safeParse(object);
  if (!parsed.success) return undefined;
  const { holderIdentity, renewTime } = parsed.data.spec;
  return { holder: holderIdentity, renewal: `${holderIdentity} ${renewTime}` };
}

const Lease = z.object({
  metadata: z.object({ labels: z.object({ [REPLICA_LABEL]: z.string() }) }),
  spec: z.object({ holderIdentity: z.string().min(1).max(512), renewTime: z.string().max(64) }),
});

/** Builds the Lease of a replica, with the required version unless it is new. */
function buildReplicaLease(name: string, holder: string, now: Date, resourceVersion?: string) {
  return {
    apiVersion: LEASES.apiVersion,
    kind: LEASES.kind,
    metadata: {
      name,
      labels: { "app.kubernetes.io/name": "serverless-ccm", [REPLICA_LABEL]: "relay" },
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    },
    spec: {
      holderIdentity: holder,
      leaseDurationSeconds: LEASE_SECONDS,
      // A MicroTime of Kubernetes: exactly six digits of a second.
      renewTime: now.toISOString().replace("Z", "000Z"),
    },
  };
}
