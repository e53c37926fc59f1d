import { Agent, get } from "node:http";

/** The results of polling an endpoint. */
export interface Health {
  readonly latenciesMs: readonly number[];
  readonly failures: number;
}

/** A running poll. */
export interface HealthPoll {
  /** Ends the poll; waits for unanswered requests up to their usual limit. */
  end(): Promise<Health>;
}

const EVERY_MS = 50;

/** A request that takes so long has failed, and counts with this time. */
const LIMIT_MS = 20_000;

/** Less than the relay's own limit of connections. */
const MAX_WAITING = 100;

/** Requests a page every 50 ms, answered or not: a blocked server must not get fewer requests. */
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
    const asked = measureLatency(url, agent).then((latencyMs) => {
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

/** Returns undefined without a 200. */
function measureLatency(url: string, agent: Agent): Promise<number | undefined> {
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
