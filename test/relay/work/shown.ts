import { UNINITIALIZED_TAINT } from "#core/contracts.ts";
import { nodeWatch } from "#core/node/watch.ts";
import type { ObjectReport } from "#core/report.ts";
import { DEFAULT_SETTINGS } from "#core/settings.ts";
import { observe } from "#relay/work/observed.ts";
import {
  createPending,
  type Pending,
  type Queue,
  type SeenObject,
  type Settlement,
} from "#relay/work/pending.ts";

/** What a test leaves open of a node: spec, status and more metadata. */
export interface NodeFields {
  readonly metadata?: object | undefined;
  readonly spec?: object | undefined;
  readonly status?: object | undefined;
}

/** Fields of a node that waits for its initialization. */
export const WAITING = { spec: { taints: [{ key: UNINITIALIZED_TAINT, effect: "NoSchedule" }] }, status: {} };

/** Fields of a node that is initialized, with one address. */
export function done(address = "10.0.0.1"): NodeFields {
  return {
    spec: { providerID: "aws:///eu-central-1a/i-1" },
    status: { addresses: [{ type: "InternalIP", address }] },
  };
}

/** The fingerprint of `done(address)`. */
export const fingerprintOfDone = (address = "10.0.0.1"): string =>
  ` aws:///eu-central-1a/i-1 InternalIP=${address}`;

/** Pending work of the node controller, with a `random` of the test's. */
export function pendingNodes(random: () => number = () => 0): Pending {
  return createPending(nodeWatch, random);
}

/** The node of that uid in that version; its name is its uid. */
export function keyOf(version: number, uid = "u"): SeenObject {
  return { name: uid, uid, resourceVersion: String(version) };
}

/** Shows a version of a node, as the watch would. */
export function show(pending: Pending, version: number, fields: NodeFields, nowMs: number, uid = "u") {
  const observed = observe(nodeWatch, nodeOf(version, fields, uid), {
    labelPrefixes: [],
    settings: DEFAULT_SETTINGS,
  });
  if (observed.kind === "malformed") throw new Error(JSON.stringify(observed.faults));
  return pending.applied(observed, keyOf(version, uid), nowMs);
}

/** A whole node, as the API server has it. */
export function nodeOf(version: number, { metadata, spec = {}, status = {} }: NodeFields, uid = "u") {
  return {
    metadata: { ...keyOf(version, uid), creationTimestamp: "2026-01-01T00:00:00Z", ...metadata },
    spec,
    status,
  };
}

/** A settlement by a report on one object. */
export function reportOf(fields: Partial<ObjectReport>): Settlement {
  return {
    kind: "report",
    report: { index: 0, outcome: "unchanged", because: { code: "X", message: "" }, ...fields },
  };
}

/** A settlement by a report of a change that made this version. */
export function changed(version: number, more: Partial<ObjectReport> = {}): Settlement {
  return reportOf({ outcome: "changed", resourceVersion: String(version), ...more });
}

/** A settlement by a report that asks for another try. */
export function retryIn(afterSeconds: number): Settlement {
  return reportOf({ outcome: "retry", afterSeconds });
}

/** The uids that could be sent now. */
export function uidsOf(pending: Pending, queue: Queue = "work"): readonly string[] {
  return [...pending.ready(queue)].map(({ uid }) => uid);
}

/** The versions that could be sent now. */
export function versionsOf(pending: Pending, queue: Queue = "work"): readonly number[] {
  return [...pending.ready(queue)].map(({ snapshot }) => Number(snapshot.metadata.resourceVersion));
}

/** Where and since when the only object waits: the milliseconds at which it became ready, and in which queue. */
export function becameReady(pending: Pending): { readonly queue: Queue; readonly atMs: number } | undefined {
  for (let nextMs = pending.nextMs(); nextMs !== undefined; nextMs = pending.nextMs()) {
    pending.advance(nextMs);
    for (const queue of ["work", "look"] as const) {
      if (pending.queue(queue).ready > 0) return { queue, atMs: nextMs };
    }
  }
  return undefined;
}
