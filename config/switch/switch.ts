import type { StopEntry, StopName } from "#config/switch/stops.ts";

/** Where operators write down what is stopped: a file, parameters of SSM, or a ConfigMap of a management cluster. */
export interface StopSwitch {
  /** As an operator writes it, for messages and logs. */
  readonly name: string;
  /** All that is stopped, or what is for one cluster where that is named; rejects with `StopSwitchError` where nobody can tell. */
  read(signal: AbortSignal, cluster?: string): Promise<readonly StopEntry[]>;
  /**
   * Stops one thing more, or no longer, and leaves everything else as it is, whoever changes that at the same time. `anew` replaces a
   * record that nobody can mean. Rejects with `StopSwitchError`.
   */
  change(change: StopChange, signal: AbortSignal): Promise<void>;
}

/** A change of what is stopped. */
export type StopChange =
  | { readonly kind: "stop"; readonly entry: StopEntry; readonly anew?: boolean }
  | { readonly kind: "resume"; readonly name: StopName };
