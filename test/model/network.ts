import type { VirtualClock } from "./virtual-clock.ts";

/** The fate of one request of an actor, in place of an answer after a few milliseconds. */
export type Fate =
  /** The request is carried out late, and answered then. */
  | { readonly kind: "late"; readonly ms: number }
  /** The request is carried out at once, and answered late. */
  | { readonly kind: "slow answer"; readonly ms: number }
  /** The actor sees a broken connection at once; the request is carried out late. */
  | { readonly kind: "lost"; readonly ms: number }
  /** The request is rejected because there were too many. */
  | { readonly kind: "throttled" }
  /** The actor ends; its request is carried out late. */
  | { readonly kind: "killed"; readonly ms: number };

/** A fate, and the number of its request, from 0. */
export interface FatedRequest {
  readonly request: number;
  readonly fate: Fate;
}

/** A request in the network. */
export interface NetworkRequest<Answer> {
  readonly to: "cluster" | "cloud";
  /** A text for people, such as `PATCH services/web/status`. */
  readonly what: string;
  readonly isChange: boolean;
  carryOut(): Promise<Answer>;
  /** Returns what the actor gets when the connection breaks. */
  lost(): Answer | Promise<never>;
  /** Returns what the actor gets when it is throttled. */
  throttled(): Answer;
}

/** The requests of one invocation. */
export interface Life {
  send<Answer>(request: NetworkRequest<Answer>): Promise<Answer>;
  kill(): void;
  isKilled(): boolean;
  /** The numbers of its carried-out requests, by the same keys as the network's. */
  readonly counts: ReadonlyMap<string, number>;
  /** Resolves when the actor ends. */
  readonly ended: Promise<void>;
}

/** All requests that were sent, and those still in transit. */
export interface Network {
  /** Starts an invocation whose requests meet these fates. Without `latencyMs` its requests take no time. */
  begin(actor: string, fates: readonly FatedRequest[], latencyMs?: number): Life;
  /** Returns the number of requests that were sent but not yet carried out. */
  inTransit(): number;
  /** Counts of carried-out requests, such as `cloud change`. */
  readonly counts: ReadonlyMap<string, number>;
  /** Returns the number of carried-out requests that change the cloud or the cluster. */
  changes(): number;
  /** One line for each request that was carried out or rejected. */
  readonly log: readonly string[];
  note(line: string): void;
}

/**
 * The most requests that are logged for an actor's life, so that an endless history does not fill the memory.
 */
const MAX_LOG = 2_000;

export function createNetwork(clock: VirtualClock): Network {
  const counts = new Map<string, number>();
  const log: string[] = [];
  const startMs = clock.now();
  let transit = 0;

  const note = (line: string): void => {
    if (log.length < MAX_LOG) log.push(`${((clock.now() - startMs) / 1_000).toFixed(3)} s  ${line}`);
  };
  const wait = (ms: number): Promise<void> => new Promise((resolve) => void clock.after(ms, resolve));

  return {
    counts,
    log,
    note,
    changes: () => (counts.get("cloud change") ?? 0) + (counts.get("cluster change") ?? 0),
    inTransit: () => transit,
    begin(actor, fates, latencyMs) {
      const byRequest = new Map(fates.map(({ request, fate }) => [request, fate]));
      const { promise: ended, resolve: end } = Promise.withResolvers<void>();
      const never = new Promise<never>(() => {});
      const own = new Map<string, number>();
      let sent = 0;
      let isKilled = false;
      const kill = (): void => {
        isKilled = true;
        end();
      };

      async function land<Answer>(request: NetworkRequest<Answer>, afterMs: number): Promise<Answer> {
        transit += 1;
        if (afterMs > 0) await wait(afterMs);
        const key = `${request.to} ${request.isChange ? "change" : "read"}`;
        for (const each of [counts, own]) each.set(key, (each.get(key) ?? 0) + 1);
        try {
          const answer = await clock.track(request.carryOut());
          note(`${actor} ${request.what}${afterMs > 1_000 ? ` (${afterMs / 1_000} s late)` : ""}`);
          return answer;
        } finally {
          transit -= 1;
        }
      }

      async function answerOf<Answer>(request: NetworkRequest<Answer>): Promise<Answer> {
        const fate = byRequest.get(sent);
        sent += 1;
        switch (fate?.kind) {
          case undefined:
            return land(request, latencyMs ?? 0);
          case "late":
            return land(request, fate.ms);
          case "slow answer": {
            const answer = await land(request, latencyMs ?? 0);
            await wait(fate.ms);
            return answer;
          }
          case "lost":
            note(`${actor} loses the connection of ${request.what}`);
            void land(request, fate.ms).catch(() => {});
            return request.lost();
          case "throttled":
            note(`${actor} is throttled: ${request.what}`);
            return request.throttled();
          case "killed":
            note(`${actor} is killed while it sends ${request.what}`);
            void land(request, fate.ms).catch(() => {});
            kill();
            return never;
        }
      }

      return {
        async send(request) {
          if (isKilled) return never;
          const answer = await answerOf(request);
          return isKilled ? never : answer;
        },
        kill,
        isKilled: () => isKilled,
        counts: own,
        ended,
      };
    },
  };
}
