import { createSemaphore, NO_LIMIT } from "#kube/client/semaphore.ts";
import { createAbortPatience } from "#kube/client/time-limit.ts";
import type { Transport } from "#kube/client/transport.ts";
import type { Clock } from "#kube/follow/clock.ts";

/** Limits concurrent large answers over several transports. */
export interface ReadPermits {
  /** Wraps a transport so that `send` waits for a permit; `stream` and `close` are unchanged. */
  wrapTransport(transport: Transport): Transport;
}

/** Answers read at a time; each is a page of up to 500 nodes, which takes several times its size to parse. */
const AT_ONCE = 4;

/**
 * A slower server loses its permit after this time and continues in parallel, so that it does not delay
 * others.
 */
const MAX_PERMIT_MS = 500;

/** Requests that wait for a permit; a further one starts at once. */
const MAX_WAITING = 10_000;

/**
 * Creates permits for requests with large answers, in order, over all clusters of a process. Memory that a
 * hundred concurrent lists took would never be fully released.
 */
export function createReadPermits(clock: Clock, atOnce = AT_ONCE): ReadPermits {
  const semaphore = createSemaphore(() => atOnce, MAX_WAITING);

  /** Starts a permit that ends by itself after a while; call the result when the answer has arrived. */
  function begin(): () => void {
    let ended = false;
    const end = (): void => {
      if (ended) return;
      ended = true;
      cancel();
      semaphore.release();
    };
    const cancel = clock.after(MAX_PERMIT_MS, end);
    return end;
  }

  /** A caller that gives up while waiting, or finds too many waiting, gets an empty permit. */
  async function acquire(signal: AbortSignal | undefined): Promise<() => void> {
    const entered = await semaphore.acquire(signal === undefined ? NO_LIMIT : createAbortPatience(signal));
    return entered === "entered" ? begin() : () => {};
  }

  return {
    wrapTransport: (transport) => ({
      stream: (request) => transport.stream(request),
      close: () => transport.close(),
      async send(request) {
        const end = await acquire(request.signal);
        try {
          return await transport.send(request);
        } finally {
          end();
        }
      },
    }),
  };
}
