import type { StopEntry, StopName } from "#config/switch/stops.ts";

/** The operators' store of stops: a file, SSM parameters, or a ConfigMap of a management cluster. */
export interface StopSwitch {
  /** As an operator writes it, for messages and logs. */
  readonly name: string;
  /** Reads all stops; rejects with `StopSwitchError` if they are unknown. */
  read(signal: AbortSignal): Promise<readonly StopEntry[]>;
  /**
   * Reads the stops of a cluster, and the others if that costs no more. Absent if `read` is always one
   * request. Rejects with `StopSwitchError`.
   */
  readonly readFor?: ((cluster: string, signal: AbortSignal) => Promise<StopsOfCluster>) | undefined;
  /**
   * Adds or removes one stop. Concurrent changes of other stops are kept. `anew` replaces an invalid record.
   * Rejects with `StopSwitchError`.
   */
  change(change: StopChange, signal: AbortSignal): Promise<void>;
}

/** The stops of a cluster, or of all clusters. */
export interface StopsOfCluster {
  readonly stopped: readonly StopEntry[];
  readonly isAll: boolean;
}

/** A change of the stops. */
export type StopChange =
  | { readonly kind: "stop"; readonly entry: StopEntry; readonly anew?: boolean }
  | { readonly kind: "resume"; readonly name: StopName };
