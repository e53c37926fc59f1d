import type { GateRequest, InvocationEnd, Place } from "#relay/delivery/gate.ts";

/** What a worker asks of the gate, which is the main thread's; a ticket is one wish for a place, and then that place. */
export type GateFromWorker =
  | { readonly kind: "gate-enter"; readonly ticket: number; readonly request: GateRequest }
  /** It is not waited for any more. */
  | { readonly kind: "gate-forget"; readonly ticket: number }
  /** Nothing was sent after all. */
  | { readonly kind: "gate-leave"; readonly ticket: number }
  | { readonly kind: "gate-ended"; readonly ticket: number; readonly end: InvocationEnd };

/** What the gate says to it. */
export type GateToWorker =
  | ({ readonly kind: "gate-place"; readonly ticket: number } & Pick<Place, "share" | "accountClusters">)
  /** How far apart batches of an account are to be from now on; told when it changed. */
  | { readonly kind: "gate-spacing"; readonly quotaKey: string; readonly spacingMs: number };
