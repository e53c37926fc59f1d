import type { InstanceAnswer } from "#core/instance.ts";
import type { Node } from "#core/node/node.ts";
import type { CloudUsage } from "#core/report.ts";

/** What comes with one batch: when to stop, and how much of the account's quotas it may spend. */
export interface CloudCall {
  /** Once aborted no new request starts, and what is not answered yet is answered with the error `Aborted`. */
  readonly signal: AbortSignal;
  /** 0 < share ≤ 1 of every API quota of the account, for this batch. */
  readonly share: number;
}

/** `answers` has the length and the order of the nodes asked for. */
export interface InstancesResult {
  readonly answers: readonly InstanceAnswer[];
  readonly usage: CloudUsage;
}

/**
 * A cloud, batch first. Capabilities are present or absent; nobody throws "not implemented".
 *
 * Contract, held by `test/clouds/conformance.ts`:
 * - `instances` never rejects: whatever goes wrong is an `error` answer of the nodes it concerns, and of no others.
 * - "not-found" is a positive statement by the cloud. A throttle, a time-out, an empty page, a malformed body or an abort
 *   is an error.
 * - An instance is answered only after it was checked to belong to the cluster, as configured; one that does not is the
 *   error `Foreign`, and more than one candidate is `Ambiguous`, both with the two sides named.
 * - A batch costs calls in proportion to its size divided by the API's page, never one call per node.
 * - Nodes are read, never changed.
 */
export interface Cloud {
  /** The provider's name, and the scheme of its provider IDs. */
  readonly provider: string;
  instances(nodes: readonly Node[], call: CloudCall): Promise<InstancesResult>;
  /** Closes what is kept open. */
  close(): Promise<void>;
}
