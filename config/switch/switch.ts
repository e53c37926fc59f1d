import type { StopEntry, StopName } from "#config/switch/stops.ts";

/** Where operators write down what is stopped: a file, parameters of SSM, or a ConfigMap of a management cluster. */
export interface StopSwitch {
  /** As an operator writes it, for messages and logs. */
  readonly name: string;
  /** Reads all that is stopped; rejects with `StopSwitchError` where nobody can tell. */
  read(signal: AbortSignal): Promise<readonly StopEntry[]>;
  /**
   * Reads what is stopped for a cluster, and all the rest where that costs nothing more. Absent where `read` is one request however much
   * is stopped. Rejects with `StopSwitchError`.
   */
  readonly readFor?: ((cluster: string, signal: AbortSignal) => Promise<StopsOfCluster>) | undefined;
  /**
   * Stops one thing more, or no longer, and leaves everything else as it is, whoever changes that at the same time. `anew` replaces a
   * record that nobody can mean. Rejects with `StopSwitchError`.
   */
  change(change: StopChange, signal: AbortSignal): Promise<void>;
}

/** What is stopped for a cluster; for every other one, too, where it is all. */
export interface StopsOfCluster {
  readonly stopped: readonly StopEntry[];
  readonly isAll: boolean;
}

/** A change of what is stopped. */
export type StopChange =
  | { readonly kind: "stop"; readonly entry: StopEntry; readonly anew?: boolean }
  | { readonly kind: "resume"; readonly name: StopName };
