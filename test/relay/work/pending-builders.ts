import { UNINITIALIZED_TAINT } from "#core/contracts.ts";
import { nodeWatch } from "#core/node/watch.ts";
import type { ObjectReport } from "#core/report.ts";
import { DEFAULT_SETTINGS } from "#core/settings.ts";
import { observe } from "#relay/work/apply-observed.ts";
import { createPending, type Pending } from "#relay/work/pending.ts";
import type { ObjectVersion, Queue, Settlement } from "#relay/work/types.ts";

/** The fields of a node that a test can set: spec, status and more metadata. */
export interface NodeFields {
  readonly metadata?: object | undefined;
  readonly spec?: object | undefined;
  readonly status?: object | undefined;
}

/** Fields of a node that waits for its initialization. */
export const WAITING = { spec: { taints: [{ key: UNINITIALIZED_TAINT, effect: "NoSchedule" }] }, status: {} };

/** Fields of a node that is initialized, with one address. */
export function buildDoneFields(address = "10.0.0.1"): NodeFields {
  return {
    spec: { providerID: "aws:///eu-central-1a/i-1" },
    status: { addresses: [{ type: "InternalIP", address }] },
  };
}

/** The fingerprint of `done(address)`. */
export const getDoneFingerprint = (address = "10.0.0.1"): string =>
  ` aws:///eu-central-1a/i-1 InternalIP=${address}`;

/** Creates pending work of the node controller, with the test's `random`. */
export function createPendingNodes(random: () => number = () => 0): Pending {
  return createPending(nodeWatch, random);
}

/** Builds the key of the node with that uid and version; its name is its uid. */
export function buildKey(version: number, uid = "u"): ObjectVersion {
  return { name: uid, uid, resourceVersion: String(version) };
}

/** Shows a version of a node, as the watch would. */
export function show(pending: Pending, version: number, fields: NodeFields, nowMs: number, uid = "u") {
  const observed = observe(nodeWatch, buildNode(version, fields, uid), {
    labelPrefixes: [],
    settings: DEFAULT_SETTINGS,
  });
  if (observed.kind === "malformed") throw new Error(JSON.stringify(observed.faults));
  return pending.applied(observed, buildKey(version, uid), nowMs);
}

/** Builds a whole node, as the API server stores it. */
export function buildNode(version: number, { metadata, spec = {}, status = {} }: NodeFields, uid = "u") {
  return {
    metadata: { ...buildKey(version, uid), creationTimestamp: "2026-01-01T00:00:00Z", ...metadata },
    spec,
    status,
  };
}

/** Builds a settlement with a report on one object. */
export function buildReportSettlement(fields: Partial<ObjectReport>): Settlement {
  return {
    kind: "report",
    report: { index: 0, outcome: "unchanged", because: { code: "X", message: "" }, ...fields },
  };
}

/** Builds a settlement with a report of a change that created this version. */
export function buildChangedSettlement(version: number, more: Partial<ObjectReport> = {}): Settlement {
  return buildReportSettlement({ outcome: "changed", resourceVersion: String(version), ...more });
}

/** Builds a settlement with a report that asks for a retry. */
export function buildRetrySettlement(afterSeconds: number): Settlement {
  return buildReportSettlement({ outcome: "retry", afterSeconds });
}

/** Returns the uids that could be sent now. */
export function listReadyUids(pending: Pending, queue: Queue = "work"): readonly string[] {
  return [...pending.ready(queue)].map(({ uid }) => uid);
}

/** Returns the versions that could be sent now. */
export function listReadyVersions(pending: Pending, queue: Queue = "work"): readonly number[] {
  return [...pending.ready(queue)].map(({ snapshot }) => Number(snapshot.metadata.resourceVersion));
}

/** Returns when the only object became ready, in milliseconds, and its queue. */
export function findReadyTime(
  pending: Pending,
): { readonly queue: Queue; readonly atMs: number } | undefined {
  for (let nextMs = pending.nextMs(); nextMs !== undefined; nextMs = pending.nextMs()) {
    pending.advance(nextMs);
    for (const queue of ["work", "look"] as const) {
      if (pending.queue(queue).ready > 0) return { queue, atMs: nextMs };
    }
  }
  return undefined;
}
