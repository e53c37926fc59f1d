import type { Fault } from "#core/faults.ts";
import type { WatchNote } from "#kube/follow/watch.ts";
import type { Delivery } from "#relay/delivery/deliver.ts";
import type { TaintRestored } from "#relay/work/pending.ts";

/** Everything that the relay has to tell; log lines and metrics are both made of it. */
export type RelayNote = { readonly cluster: string } & (
  | { readonly kind: "watch"; readonly note: WatchNote }
  | {
      readonly kind: "delivered";
      readonly delivery: Delivery;
      readonly startedMs: number;
      readonly endedMs: number;
    }
  /** An object that is not what the API server's schema promises; left out until it changes. */
  | {
      readonly kind: "malformed";
      readonly name: string;
      readonly uid: string;
      readonly faults: readonly Fault[];
    }
  | ({ readonly kind: "taint-restored" } & TaintRestored)
  /** An object that is too large for any event. */
  | { readonly kind: "too-large"; readonly name: string; readonly uid: string }
  /** The watch did not show our own write in time, and the object was read. */
  | {
      readonly kind: "read";
      readonly name: string;
      readonly failure: { readonly code: string; readonly message: string } | undefined;
    }
  /** A pass over all initialized objects. */
  | { readonly kind: "refreshed"; readonly objects: number; readonly durationMs: number }
);
