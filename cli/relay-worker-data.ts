import type { FunctionFlags } from "#cli/function-names.ts";
import type { AddressRules } from "#config/address-rules.ts";
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
export interface RelayWorkerData extends CommonWorkerData, FunctionFlags {
  readonly kind: typeof RELAY_WORKER;
  /** The functions' region; the AWS SDK's default without it. */
  readonly region: string | undefined;
  /** Whether it handles events itself while the platform fails. */
  readonly hasFallback: boolean;
}

/** The data of a worker of `run`. */
export interface RunWorkerData extends CommonWorkerData {
  readonly kind: typeof RUN_WORKER;
}
