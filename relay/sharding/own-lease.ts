import { messageOf } from "#core/message-of.ts";
import { creationPath, LEASES, objectPath } from "#core/resources/resource.ts";
import { type Answer, classifyAnswer, type FailedAnswer, parseJson } from "#kube/client/answer.ts";
import type { ApiRequest, ApiResponse, Transport } from "#kube/client/transport.ts";
import { metadataOf } from "#kube/follow/object-key.ts";
import { replicaLease, replicaLeaseOf } from "#relay/sharding/replica-lease.ts";

/** The Lease by which others know that this replica lives. */
export interface OwnLease {
  /** Makes it, takes it over from a predecessor of the same name, or renews it. */
  renew(now: Date, signal: AbortSignal): Promise<Renewal>;
  /** Deletes it, where it is still this process's. */
  release(signal: AbortSignal): Promise<void>;
}

export type Renewal =
  | { readonly kind: "renewed" }
  /** Somebody else has written it since this process did. */
  | { readonly kind: "taken-back"; readonly holder: string }
  | { readonly kind: "failed"; readonly message: string };

export interface OwnLeaseOptions {
  readonly transport: Pick<Transport, "send">;
  readonly namespace: string;
  /** The replica's, and the Lease's. */
  readonly name: string;
  /** Tells this process from any other of the same name. */
  readonly holder: string;
}

/** Others wait for seconds, not for a request. */
const REQUEST_TIMEOUT_MS = 2_000;
/** How often a release is tried where a renewal that nobody waits for any more is still on its way. */
const RELEASES = 3;

/** Nothing is sent yet. Every write but the first has the version that the Lease was last seen at. */
export function createOwnLease({ transport, namespace, name, holder }: OwnLeaseOptions): OwnLease {
  const path = objectPath(LEASES, { namespace, name });
  let version: string | undefined;
  let hasHeld = false;

  async function ask(request: ApiRequest): Promise<{ readonly answer: Answer; readonly body: string }> {
    try {
      const response: ApiResponse = await transport.send({ ...request, timeoutMs: REQUEST_TIMEOUT_MS });
      return { answer: classifyAnswer(response), body: response.body };
    } catch (error) {
      // A fault of ours among them, and no reason to be held for gone.
      return { answer: { kind: "unavailable", code: undefined, message: messageOf(error) }, body: "" };
    }
  }

  async function write(now: Date, over: string | undefined, signal: AbortSignal): Promise<Answer> {
    const body = replicaLease(name, holder, now, over);
    const request: ApiRequest =
      over === undefined
        ? { method: "POST", path: creationPath(LEASES, namespace), body, signal }
        : { method: "PUT", path, body, signal };
    const { answer } = await ask(request);
    version = answer.kind === "applied" ? answer.metadata?.resourceVersion : undefined;
    hasHeld ||= answer.kind === "applied";
    return answer;
  }

  async function read(signal: AbortSignal) {
    const { answer, body } = await ask({ method: "GET", path, signal });
    if (answer.kind !== "applied") return { answer };
    const object = parseJson(body);
    const { resourceVersion, uid } = metadataOf(object);
    return { answer, lease: replicaLeaseOf(object), resourceVersion, uid };
  }

  return {
    async renew(now, signal) {
      let answer = await write(now, version, signal);
      if (answer.kind === "gone") answer = await write(now, undefined, signal);
      if (answer.kind === "applied") return { kind: "renewed" };
      if (answer.kind !== "conflict" && answer.kind !== "exists") return failed(answer);
      const found = await read(signal);
      if (found.answer.kind !== "applied") return failed(found.answer);
      if (found.lease === undefined || typeof found.resourceVersion !== "string")
        return { kind: "failed", message: `the Lease ${namespace}/${name} is there, and is no replica's` };
      const other = hasHeld && found.lease.holder !== holder ? found.lease.holder : undefined;
      answer = await write(now, found.resourceVersion, signal);
      if (answer.kind !== "applied") return failed(answer);
      return other === undefined ? { kind: "renewed" } : { kind: "taken-back", holder: other };
    },
    async release(signal) {
      for (let tries = 0; tries < RELEASES; tries += 1) {
        const { lease, resourceVersion, uid } = await read(signal);
        if (lease?.holder !== holder) return;
        const body = { preconditions: { uid, resourceVersion } };
        const { answer } = await ask({ method: "DELETE", path, body, signal });
        if (answer.kind !== "conflict") return;
      }
    },
  };
}

function failed(answer: FailedAnswer): Renewal {
  return { kind: "failed", message: answer.message };
}
