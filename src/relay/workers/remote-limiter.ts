import type {
  InvocationLimiter,
  InvocationPermit,
  PermitRequest,
} from "#relay/delivery/invocation-limiter.ts";
import type { LimiterFromWorker, LimiterToWorker } from "#relay/workers/messages.ts";

/**
 * A worker's view of the invocation limiter. It asks the main thread, so no permit is available before an
 * answer arrives.
 */
export interface RemoteLimiter extends InvocationLimiter {
  receive(message: LimiterToWorker): void;
}

type GivenPermit = Extract<LimiterToWorker, { readonly kind: "limiter-permit" }>;

/** Creates the view; `send` sends a message to the main thread. */
export function createRemoteLimiter(send: (message: LimiterFromWorker) => void): RemoteLimiter {
  const tickets = new Map<() => void, number>();
  const waiters = new Map<number, () => void>();
  const spacings = new Map<string, number>();
  let last = 0;
  /** The permit that has arrived for the waiter that is being called. */
  let offered: { readonly waiter: () => void; readonly permit: InvocationPermit } | undefined;

  function buildPermit({ ticket, share, accountClusters }: GivenPermit): InvocationPermit {
    return {
      share,
      accountClusters,
      leave: () => send({ kind: "limiter-leave", ticket }),
      ended: (end) => send({ kind: "limiter-ended", ticket, end }),
    };
  }

  function ask(request: PermitRequest, waiter: () => void): void {
    last += 1;
    tickets.set(waiter, last);
    waiters.set(last, waiter);
    const { controller, cluster, quotaKey, floorShare } = request;
    send({ kind: "limiter-enter", ticket: last, request: { controller, cluster, quotaKey, floorShare } });
  }

  function offer(given: GivenPermit): void {
    const { ticket } = given;
    const waiter = waiters.get(ticket);
    // The waiter may have been removed meanwhile; the main thread already knows, or will know soon.
    if (waiter === undefined) return;
    waiters.delete(ticket);
    tickets.delete(waiter);
    const permit = buildPermit(given);
    offered = { waiter, permit };
    try {
      waiter();
    } finally {
      const untaken = offered;
      offered = undefined;
      untaken?.permit.leave();
    }
  }

  return {
    enter(request, waiter) {
      if (offered?.waiter === waiter) {
        const { permit } = offered;
        offered = undefined;
        return permit;
      }
      if (!tickets.has(waiter)) ask(request, waiter);
      return undefined;
    },
    forget(waiter) {
      const ticket = tickets.get(waiter);
      if (ticket === undefined) return;
      tickets.delete(waiter);
      waiters.delete(ticket);
      send({ kind: "limiter-forget", ticket });
    },
    spacingMs: (quotaKey) => spacings.get(quotaKey) ?? 0,
    receive(message) {
      if (message.kind === "limiter-permit") return offer(message);
      spacings.set(message.quotaKey, message.spacingMs);
    },
  };
}
