import { Agent, get } from "node:http";

/** How an endpoint was answered. */
export interface Health {
  readonly latenciesMs: readonly number[];
  readonly failures: number;
}

/** A poll that goes on. */
export interface HealthPoll {
  /** Ends it; waits for what is still unanswered, as long as for any. */
  end(): Promise<Health>;
}

const EVERY_MS = 50;

/** A request that is unanswered for so long has failed, and counts with this. */
const LIMIT_MS = 20_000;

/** Fewer than the relay's own limit of connections. */
const MAX_WAITING = 100;

/** Asks for a page every 50 ms, whether or not the last one is answered: a server that stands still must not be asked less. */
export function pollHealth(url: string): HealthPoll {
  const agent = new Agent({ keepAlive: true, maxSockets: MAX_WAITING });
  const latenciesMs: number[] = [];
  const waiting = new Set<Promise<void>>();
  let failures = 0;
  const ask = (): void => {
    if (waiting.size >= MAX_WAITING) {
      failures += 1;
      return;
    }
    const asked = latencyOf(url, agent).then((latencyMs) => {
      latenciesMs.push(latencyMs ?? LIMIT_MS);
      if (latencyMs === undefined) failures += 1;
      waiting.delete(asked);
    });
    waiting.add(asked);
  };
  const timer = setInterval(ask, EVERY_MS);
  return {
    async end() {
      clearInterval(timer);
      await Promise.all(waiting);
      agent.destroy();
      return { latenciesMs, failures };
    },
  };
}

/** Undefined where it was not answered with 200. */
function latencyOf(url: string, agent: Agent): Promise<number | undefined> {
  const startedAt = performance.now();
  return new Promise((resolve) => {
    const request = get(url, { agent, timeout: LIMIT_MS }, (response) => {
      response.resume();
      response.once("end", () =>
        resolve(response.statusCode === 200 ? performance.now() - startedAt : undefined),
      );
      response.once("error", () => resolve(undefined));
    });
    request.once("timeout", () => request.destroy());
    request.once("error", () => resolve(undefined));
  });
}
