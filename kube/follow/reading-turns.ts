import { untilAborted } from "#kube/client/on-abort.ts";
import { createSlots, FOR_EVER } from "#kube/client/slots.ts";
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

/** Requests that wait for a turn; one more goes at once. */
const MAX_WAITING = 10_000;

/**
 * Turns for requests with large answers, in the order in which they were asked for, over all clusters of a process: memory that a
 * hundred lists took at the same time is never quite given back.
 */
export function createReadingTurns(clock: Clock, atOnce = AT_ONCE): ReadingTurns {
  const slots = createSlots(() => atOnce, MAX_WAITING);

  /** Ends by itself after a while; to be called when the answer is there. */
  function begin(): () => void {
    let ended = false;
    const end = (): void => {
      if (ended) return;
      ended = true;
      cancel();
      slots.leave();
    };
    const cancel = clock.after(LONGEST_TURN_MS, end);
    return end;
  }

  /** Whoever gives up while waiting, or finds too many before him, gets a turn that is none. */
  async function turn(signal: AbortSignal | undefined): Promise<() => void> {
    const entered = await slots.enter(signal === undefined ? FOR_EVER : untilAborted(signal));
    return entered === "entered" ? begin() : () => {};
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
