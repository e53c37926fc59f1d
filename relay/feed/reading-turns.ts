import type { Transport } from "#kube/client/transport.ts";
import type { Clock } from "#kube/follow/clock.ts";

/** Hands out turns among transports. */
export interface ReadingTurns {
  /** The same transport, whose `send` waits for its turn; `stream` and `close` are as they were. */
  take(transport: Transport): Transport;
}

/** Answers that are read at a time; each is a page of up to 500 nodes, which takes several times its size to parse. */
const AT_ONCE = 4;

/** A server that takes longer than this has had its turn, and goes on beside the others: it must not keep them waiting. */
const LONGEST_TURN_MS = 500;

/**
 * Turns for requests with large answers, in the order in which they were asked for, over all clusters of a process: memory that a
 * hundred lists took at the same time is never quite given back.
 */
export function createReadingTurns(clock: Clock): ReadingTurns {
  const waiting = new Set<() => void>();
  let taken = 0;

  function begin(): () => void {
    let ended = false;
    const end = (): void => {
      if (ended) return;
      ended = true;
      cancel();
      taken -= 1;
      const next = waiting.values().next().value;
      next?.();
    };
    taken += 1;
    const cancel = clock.after(LONGEST_TURN_MS, end);
    return end;
  }

  /** Resolves to what ends the turn; whoever gives up while waiting gets a turn that is none. */
  function turn(signal: AbortSignal | undefined): Promise<() => void> {
    if (taken < AT_ONCE || signal?.aborted) return Promise.resolve(begin());
    return new Promise((resolve) => {
      const wake = (): void => {
        waiting.delete(wake);
        signal?.removeEventListener("abort", onAbort);
        resolve(begin());
      };
      const onAbort = (): void => {
        waiting.delete(wake);
        resolve(() => {});
      };
      waiting.add(wake);
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  }

  return {
    take: (transport) => ({
      stream: (request) => transport.stream(request),
      close: () => transport.close(),
      async send(request) {
        const end = await turn(request.signal);
        try {
          return await transport.send(request);
        } finally {
          end();
        }
      },
    }),
  };
}
