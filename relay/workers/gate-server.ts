import { ABANDONED } from "#delivery/invoker.ts";
import type { Clock } from "#kube/follow/clock.ts";
import type { Gate, Place } from "#relay/delivery/gate.ts";
import type { GateFromWorker, GateToWorker } from "#relay/workers/gate-messages.ts";

/** One worker before the gate that all share. */
export interface GateServer {
  receive(message: GateFromWorker): void;
  /** The worker is no more: nobody waits for it, and its places are given back once their functions have certainly ended. */
  close(): void;
}

export interface GateServerOptions {
  readonly gate: Gate;
  readonly clock: Clock;
  /** How long after its place was given a function may still be at work. */
  readonly longestInvocationMs: number;
  readonly send: (message: GateToWorker) => void;
}

interface Held {
  readonly place: Place;
  readonly quotaKey: string;
  readonly sinceMs: number;
}

/** Asks the gate in the name of a worker. */
export function createGateServer({ gate, clock, longestInvocationMs, send }: GateServerOptions): GateServer {
  const waiting = new Map<number, () => void>();
  const held = new Map<number, Held>();
  const told = new Map<string, number>();

  function tellSpacing(quotaKey: string): void {
    const spacingMs = gate.spacingMs(quotaKey);
    if (spacingMs === (told.get(quotaKey) ?? 0)) return;
    told.set(quotaKey, spacingMs);
    send({ kind: "gate-spacing", quotaKey, spacingMs });
  }

  /** What is held is over, one way or the other. */
  function release(ticket: number, how: (place: Place) => void): void {
    const one = held.get(ticket);
    held.delete(ticket);
    if (one === undefined) return;
    how(one.place);
    tellSpacing(one.quotaKey);
  }

  function enter({ ticket, request }: Extract<GateFromWorker, { kind: "gate-enter" }>): void {
    const ask = (): void => {
      const place = gate.enter(request, ask);
      if (place === undefined) {
        waiting.set(ticket, ask);
        return;
      }
      waiting.delete(ticket);
      held.set(ticket, { place, quotaKey: request.quotaKey, sinceMs: clock.now() });
      tellSpacing(request.quotaKey);
      const { share, accountClusters } = place;
      send({ kind: "gate-place", ticket, share, accountClusters });
    };
    ask();
  }

  return {
    receive(message) {
      switch (message.kind) {
        case "gate-enter":
          return enter(message);
        case "gate-forget": {
          const waiter = waiting.get(message.ticket);
          waiting.delete(message.ticket);
          if (waiter !== undefined) gate.forget(waiter);
          return release(message.ticket, (place) => place.leave());
        }
        case "gate-leave":
          return release(message.ticket, (place) => place.leave());
        case "gate-ended":
          return release(message.ticket, (place) => place.ended(message.end));
      }
    },
    close() {
      for (const waiter of waiting.values()) gate.forget(waiter);
      waiting.clear();
      for (const { place, sinceMs } of held.values()) {
        const durationMs = clock.now() - sinceMs;
        clock.after(Math.max(0, longestInvocationMs - durationMs), () =>
          place.ended({
            code: ABANDONED,
            refused: false,
            settleMs: 0,
            durationMs: longestInvocationMs,
            usage: undefined,
          }),
        );
      }
      held.clear();
    },
  };
}
