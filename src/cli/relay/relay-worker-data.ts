import type { FunctionFlags } from "#cli/relay/function-names.ts";
import type { AddressRules } from "#config/address-rules.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";
import type { WorkerStart } from "#relay/workers/messages.ts";

/**
 * Identify our own workers: those that invoke deployed functions, and those that run the functions
 * themselves.
 */
export const RELAY_WORKER = "relay-worker";

export const RUN_WORKER = "run-worker";

/** The data with which every worker starts; plain data. */
export interface CommonWorkerData {
  readonly start: WorkerStart;
  /** The networks in which API servers may be. */
  readonly addresses: AddressRules;
  readonly identity: string;
  readonly nodeStatusUpdateFrequencySeconds: number;
  /** The record of the fleet brake, for functions in this process. */
  readonly fleetBrake?: string | undefined;
}

/** The data of a worker of `relay`. */
export interface RelayWorkerData extends CommonWorkerData {
  readonly kind: typeof RELAY_WORKER;
  readonly functionFlags: FunctionFlags;
  /** The functions' region; the AWS SDK's default without it. */
  readonly region: string | undefined;
  /** Whether it handles events itself while the platform fails. */
  readonly hasFallback: boolean;
}

/** The data of a worker of `run`. */
export interface RunWorkerData extends CommonWorkerData {
  readonly kind: typeof RUN_WORKER;
}

/** Returns the number of workers for this many clusters. */
export type WorkersFor = (clusters: number) => number;

/**
 * The default number of clusters in a worker, for the first two hundred and for all others; follows from
 * docs/decisions/0012-bulkheads.md.
 */
const CLUSTERS_PER_WORKER = 50;

const FIRST_CLUSTERS = 200;

const FURTHER_CLUSTERS_PER_WORKER = 100;

const MAX_DEFAULT_WORKERS = 16;

const MAX_WORKERS = 64;

/** Reads `--workers`; undefined means none: all clusters run in the main thread. */
export function readWorkers(text: string | undefined, faults: ConfigurationFault[]): WorkersFor | undefined {
  if (text === undefined) return getDefaultWorkers;
  const count = /^\d{1,3}$/.test(text) ? Number(text) : Number.NaN;
  if (count === 0) return undefined;
  if (!(count <= MAX_WORKERS)) {
    const message = `"${text}" is not a number of workers; give 0 (none) to ${MAX_WORKERS}`;
    faults.push({ name: "--workers", message });
  }
  return () => count;
}

function getDefaultWorkers(clusters: number): number {
  const first = Math.ceil(Math.min(clusters, FIRST_CLUSTERS) / CLUSTERS_PER_WORKER);
  const further = Math.ceil(Math.max(0, clusters - FIRST_CLUSTERS) / FURTHER_CLUSTERS_PER_WORKER);
  return Math.max(1, Math.min(MAX_DEFAULT_WORKERS, first + further));
}
