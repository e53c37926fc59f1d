import type { FunctionFlags } from "#cli/function-names.ts";
import type { AddressRules } from "#config/address-rules.ts";
import type { WorkerStart } from "#relay/workers/messages.ts";

/** Tell our own workers from any other thread: those that invoke deployed functions, and those that have the functions themselves. */
export const RELAY_WORKER = "relay-worker";
export const RUN_WORKER = "run-worker";

/** What every worker is started with; plain data. */
export interface CommonWorkerData {
  readonly start: WorkerStart;
  /** Where API servers may be. */
  readonly addresses: AddressRules;
  readonly identity: string;
  readonly nodeStatusUpdateFrequencySeconds: number;
  /** The record of the fleet's brake, for functions in this process. */
  readonly fleetBrake?: string | undefined;
}

/** Of a relay. */
export interface RelayWorkerData extends CommonWorkerData, FunctionFlags {
  readonly kind: typeof RELAY_WORKER;
  /** Where the functions are; what the AWS SDK finds without it. */
  readonly region: string | undefined;
  /** Whether it handles events by itself while the platform fails. */
  readonly hasFallback: boolean;
}

/** Of `run`. */
export interface RunWorkerData extends CommonWorkerData {
  readonly kind: typeof RUN_WORKER;
}
