import { ABANDONED } from "#delivery/invoker.ts";
import type { Clock } from "#kube/follow/clock.ts";
import type { InvocationLimiter, InvocationPermit } from "#relay/delivery/invocation-limiter.ts";
import type { LimiterFromWorker, LimiterToWorker } from "#relay/workers/messages.ts";

/** Connects one worker to the shared invocation limiter. */
export interface LimiterServer {
  receive(message: LimiterFromWorker): void;
  /**
   * Handles the end of the worker: its requests are dropped, and its permits return when their functions have
   * certainly ended.
   */
  close(): void;
}

export interface LimiterServerOptions {
  readonly limiter: InvocationLimiter;
  readonly clock: Clock;
  /** How long a function may still run after its permit was given. */
  readonly longestInvocationMs: number;
  readonly send: (message: LimiterToWorker) => void;
}

interface HeldPermit {
  readonly place: InvocationPermit;
  readonly quotaKey: string;
  readonly sinceMs: number;
}

/** Creates the connection, which asks the limiter on behalf of a worker. */
export function createLimiterServer({
  limiter,
  clock,
  longestInvocationMs,
  send,
}: LimiterServerOptions): LimiterServer {
  const waiting = new Map<number, () => void>();
  const held = new Map<number, HeldPermit>();
  const reported = new Map<string, number>();

  function tellSpacing(quotaKey: string): void {
    const spacingMs = limiter.spacingMs(quotaKey);
    if (spacingMs === (reported.get(quotaKey) ?? 0)) return;
    reported.set(quotaKey, spacingMs);
    send({ kind: "gate-spacing", quotaKey, spacingMs });
  }

  /** Ends the use of a permit in one of the two ways. */
  function release(ticket: number, how: (place: InvocationPermit) => void): void {
    const one = held.get(ticket);
    held.delete(ticket);
    if (one === undefined) return;
    how(one.place);
    tellSpacing(one.quotaKey);
  }

  function enter({ ticket, request }: Extract<LimiterFromWorker, { kind: "gate-enter" }>): void {
    const ask = (): void => {
      const place = limiter.enter(request, ask);
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
          if (waiter !== undefined) limiter.forget(waiter);
          return release(message.ticket, (place) => place.leave());
        }
        case "gate-leave":
          return release(message.ticket, (place) => place.leave());
        case "gate-ended":
          return release(message.ticket, (place) => place.ended(message.end));
      }
    },
    close() {
      for (const waiter of waiting.values()) limiter.forget(waiter);
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
