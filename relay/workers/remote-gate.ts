import type { Gate, GateRequest, Place } from "#relay/delivery/gate.ts";
import type { GateFromWorker, GateToWorker } from "#relay/workers/gate-messages.ts";

/** The gate as a worker has it: it asks the main thread's, so nobody enters before an answer has come. */
export interface RemoteGate extends Gate {
  receive(message: GateToWorker): void;
}

type GivenPlace = Extract<GateToWorker, { readonly kind: "gate-place" }>;

/** Creates it; `send` takes a message to the main thread. */
export function createRemoteGate(send: (message: GateFromWorker) => void): RemoteGate {
  const tickets = new Map<() => void, number>();
  const waiters = new Map<number, () => void>();
  const spacings = new Map<string, number>();
  let last = 0;
  /** What has come for the waiter that is being called. */
  let offered: { readonly waiter: () => void; readonly place: Place } | undefined;

  function placeOf({ ticket, share, accountClusters }: GivenPlace): Place {
    return {
      share,
      accountClusters,
      leave: () => send({ kind: "gate-leave", ticket }),
      ended: (end) => send({ kind: "gate-ended", ticket, end }),
    };
  }

  function ask(request: GateRequest, waiter: () => void): void {
    last += 1;
    tickets.set(waiter, last);
    waiters.set(last, waiter);
    const { controller, cluster, quotaKey, floorShare } = request;
    send({ kind: "gate-enter", ticket: last, request: { controller, cluster, quotaKey, floorShare } });
  }

  function offer(given: GivenPlace): void {
    const { ticket } = given;
    const waiter = waiters.get(ticket);
    // It may have been forgotten while this was under way; the main thread has heard of that by then, or is about to.
    if (waiter === undefined) return;
    waiters.delete(ticket);
    tickets.delete(waiter);
    const place = placeOf(given);
    offered = { waiter, place };
    try {
      waiter();
    } finally {
      const untaken = offered;
      offered = undefined;
      untaken?.place.leave();
    }
  }

  return {
    enter(request, waiter) {
      if (offered?.waiter === waiter) {
        const { place } = offered;
        offered = undefined;
        return place;
      }
      if (!tickets.has(waiter)) ask(request, waiter);
      return undefined;
    },
    forget(waiter) {
      const ticket = tickets.get(waiter);
      if (ticket === undefined) return;
      tickets.delete(waiter);
      waiters.delete(ticket);
      send({ kind: "gate-forget", ticket });
    },
    spacingMs: (quotaKey) => spacings.get(quotaKey) ?? 0,
    receive(message) {
      if (message.kind === "gate-place") return offer(message);
      spacings.set(message.quotaKey, message.spacingMs);
    },
  };
}
