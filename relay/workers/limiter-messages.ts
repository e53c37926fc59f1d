import type { InvocationEnd, InvocationPermit, PermitRequest } from "#relay/delivery/invocation-limiter.ts";

/**
 * A worker's request to the invocation limiter, which runs in the main thread. A ticket identifies a request
 * for a permit, and then that permit.
 */
export type LimiterFromWorker =
  | { readonly kind: "gate-enter"; readonly ticket: number; readonly request: PermitRequest }
  /** The worker does not wait for the permit any more. */
  | { readonly kind: "gate-forget"; readonly ticket: number }
  /** The permit was not used. */
  | { readonly kind: "gate-leave"; readonly ticket: number }
  | { readonly kind: "gate-ended"; readonly ticket: number; readonly end: InvocationEnd };

/** The invocation limiter's answers to a worker. */
export type LimiterToWorker =
  | ({ readonly kind: "gate-place"; readonly ticket: number } & Pick<
      InvocationPermit,
      "share" | "accountClusters"
    >)
  /** The spacing between batches of an account, sent when it changes. */
  | { readonly kind: "gate-spacing"; readonly quotaKey: string; readonly spacingMs: number };
