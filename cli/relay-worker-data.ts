import type { FunctionFlags } from "#cli/function-names.ts";
import type { AddressRules } from "#config/address-rules.ts";
import type { WorkerStart } from "#relay/workers/messages.ts";

/** Tells our own workers from any other thread. */
export const RELAY_WORKER = "relay-worker";

/** What a relay's worker is started with; plain data. */
export interface RelayWorkerData extends FunctionFlags {
  readonly kind: typeof RELAY_WORKER;
  readonly start: WorkerStart;
  /** Where the functions are; what the AWS SDK finds without it. */
  readonly region: string | undefined;
  /** Where API servers may be. */
  readonly addresses: AddressRules;
  readonly identity: string;
  readonly nodeStatusUpdateFrequencySeconds: number;
}
