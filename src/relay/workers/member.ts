import type { Cluster } from "#config/cluster.ts";
import type { StopsRead } from "#config/switch/stops.ts";
import type { Clock } from "#kube/follow/clock.ts";
import { ABANDONED } from "#platforms/invoker.ts";
import type { InvocationLimiter, InvocationPermit } from "#relay/delivery/invocation-limiter.ts";
import type { ProcessPlatformHealth } from "#relay/delivery/platform-health.ts";
import type {
  FromWorker,
  LimiterFromWorker,
  LimiterToWorker,
  LogLine,
  Metrics,
  ToWorker,
} from "#relay/workers/messages.ts";
import { type Death, type Spawn, startRunningWorker } from "#relay/workers/running-worker.ts";

/** The settings shared by all members of a pool. */
export interface MemberOptions {
  readonly spawn: Spawn;
  readonly limiter: InvocationLimiter;
  readonly clock: Clock;
  /** How long a function may still run after its permit was given. */
  readonly longestInvocationMs: number;
  readonly log: (line: LogLine) => void;
  /** The platform's health, shared by all workers; without it workers do not use it. */
  readonly health?: Pick<ProcessPlatformHealth, "failed" | "answered" | "failing"> | undefined;
}

/** Callbacks from a member to its pool. */
export interface MemberHandler {
  settled(member: Member, message: Extract<FromWorker, { kind: "settled" }>): void;
  status(member: Member, message: Extract<FromWorker, { kind: "status" }>): void;
  drained(): void;
  /**
   * Called when a member ended unexpectedly; `culprit` is the cluster whose data it was handling, if known.
   */
  died(member: Member, death: Death, culprit: string | undefined): void;
}

/** One worker of a pool, with the main thread's state for it. */
export interface Member {
  readonly id: number;
  isReady(): boolean;
  /** Returns whether nothing of it is in flight and nothing starts. */
  isDrained(): boolean;
  /** Sends the desired state of a cluster. */
  want(name: string, turn: number, cluster: Cluster | undefined, isKnown: boolean): void;
  /** Sends what operators have stopped. */
  tellStops(read: StopsRead): void;
  drain(): void;
  /** Sends which functions the platform does not run now. */
  tellHealth(): void;
  metrics(): Promise<Metrics>;
  /** Called once a second. */
  turn(): void;
  end(): Promise<void>;
}

/** Starts a worker; throws if the thread cannot be created. */
export function startMember(id: number, options: MemberOptions, handler: MemberHandler): Member {
  /** By index: a cluster keeps its index while the worker lives. */
  const names: string[] = [];
  let isDrained = false;

  function receive(message: FromWorker): void {
    switch (message.kind) {
      case "ready":
      case "pong":
        break;
      case "settled":
        handler.settled(member, message);
        break;
      case "status":
        handler.status(member, message);
        break;
      case "log":
        for (const line of message.lines) options.log(line);
        if (message.dropped > 0)
          options.log({ level: "warn", event: "LogLinesDropped", worker: id, leftOut: message.dropped });
        break;
      case "metrics":
        metrics.receive(message.id, message.metrics);
        break;
      case "drained":
        isDrained = true;
        handler.drained();
        break;
      case "platform-failed":
        options.health?.failed(message.failure);
        break;
      case "platform-answered":
        options.health?.answered(message.controller);
        break;
      default:
        limiter.receive(message);
    }
  }

  function over(): void {
    limiter.close();
    metrics.close();
  }

  const worker = startRunningWorker({
    id,
    spawn: options.spawn,
    onMessage: receive,
    onDeath(death) {
      over();
      handler.died(member, death, death.handled === undefined ? undefined : names[death.handled]);
    },
  });
  const limiter = createLimiterServer({ ...options, send: worker.send });
  const metrics = askMetrics(worker.send);
  const member: Member = {
    id,
    isReady: worker.isReady,
    isDrained: () => isDrained,
    want(name, turn, cluster, isKnown) {
      const known = names.indexOf(name);
      const index = known === -1 ? names.push(name) - 1 : known;
      worker.send({ kind: "want", name, index, turn, cluster, isKnown });
    },
    tellStops: (read) => worker.send({ kind: "stops", read }),
    drain: () => worker.send({ kind: "drain" }),
    tellHealth: () => worker.send({ kind: "platform", failing: options.health?.failing() ?? [] }),
    metrics: () => metrics.ask(),
    turn: () => worker.turn(),
    end() {
      over();
      return worker.end();
    },
  };
  if ((options.health?.failing().length ?? 0) > 0) member.tellHealth();
  return member;
}

/** Requests one worker's metrics across threads. */
interface MetricsAnswers {
  /** Resolves to the worker's current metrics; to the last known ones if it does not answer in time. */
  ask(): Promise<Metrics>;
  receive(id: number, metrics: Metrics): void;
  /** Called when the worker does not answer any more. */
  close(): void;
}

/** A scrape takes at most ten seconds by default, and a worker that reads a long list is not dead. */
const TIMEOUT_MS = 1_500;

/** Creates the requester; concurrent scrapes share one request. */
export function askMetrics(send: (message: ToWorker) => void, timeoutMs = TIMEOUT_MS): MetricsAnswers {
  let known: Metrics = [];
  let asked = 0;
  let asking: Promise<Metrics> | undefined;
  let answered = (): void => {};

  return {
    ask() {
      asking ??= new Promise<Metrics>((resolve) => {
        asked += 1;
        answered = () => {
          clearTimeout(timer);
          asking = undefined;
          resolve(known);
        };
        const timer = setTimeout(answered, timeoutMs);
        send({ kind: "ask-metrics", id: asked });
      });
      return asking;
    },
    receive(id, metrics) {
      // A late answer is still newer than the known values.
      known = metrics;
      if (id === asked) answered();
    },
    close: () => answered(),
  };
}

/** Connects one worker to the shared invocation limiter. */
interface LimiterServer {
  receive(message: LimiterFromWorker): void;
  /**
   * Handles the end of the worker: its requests are dropped, and its permits return when their functions have
   * certainly ended.
   */
  close(): void;
}

interface LimiterServerOptions {
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
