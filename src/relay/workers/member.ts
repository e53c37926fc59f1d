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
  /** The maximum time from granting a permit to the end of its function, in milliseconds. */
  readonly longestInvocationMs: number;
  readonly log: (line: LogLine) => void;
  /** The platform's health, shared by all workers. If undefined, workers assume that the platform works. */
  readonly health?: Pick<ProcessPlatformHealth, "failed" | "answered" | "failing"> | undefined;
}

/** Callbacks from a member to its pool. */
export interface MemberHandler {
  onSettled(member: Member, message: Extract<FromWorker, { kind: "settled" }>): void;
  onStatus(member: Member, message: Extract<FromWorker, { kind: "status" }>): void;
  onDrained(): void;
  /**
   * Called when a member ended unexpectedly; `culprit` is the cluster whose data it was handling, if known.
   */
  onDeath(member: Member, death: Death, culprit: string | undefined): void;
}

/** One worker of a pool, with the main thread's state for it. */
export interface Member {
  readonly id: number;
  isReady(): boolean;
  /** Returns whether the worker has drained: it has nothing in flight and starts nothing. */
  isDrained(): boolean;
  /** Sends the desired state of a cluster. */
  setDesiredState(name: string, generation: number, cluster: Cluster | undefined, isKnown: boolean): void;
  /** Sends what operators have stopped. */
  tellStops(read: StopsRead): void;
  drain(): void;
  /** Sends the controllers whose functions currently fail on the platform. */
  tellHealth(): void;
  metrics(): Promise<Metrics>;
  /** Pings the worker, and ends it if it has been silent for too long. The pool calls it once a second. */
  checkLiveness(): void;
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
        handler.onSettled(member, message);
        break;
      case "status":
        handler.onStatus(member, message);
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
        handler.onDrained();
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

  function closeChannels(): void {
    limiter.close();
    metrics.close();
  }

  const worker = startRunningWorker({
    id,
    spawn: options.spawn,
    onMessage: receive,
    onDeath(death) {
      closeChannels();
      handler.onDeath(member, death, death.handled === undefined ? undefined : names[death.handled]);
    },
  });
  const limiter = createLimiterServer({ ...options, send: worker.send });
  const metrics = createMetricsRequester(worker.send);
  const member: Member = {
    id,
    isReady: worker.isReady,
    isDrained: () => isDrained,
    setDesiredState(name, generation, cluster, isKnown) {
      const known = names.indexOf(name);
      const index = known === -1 ? names.push(name) - 1 : known;
      worker.send({ kind: "desired-state", name, index, generation, cluster, isKnown });
    },
    tellStops: (read) => worker.send({ kind: "stops", read }),
    drain: () => worker.send({ kind: "drain" }),
    tellHealth: () => worker.send({ kind: "platform", failing: options.health?.failing() ?? [] }),
    metrics: () => metrics.ask(),
    checkLiveness: () => worker.checkLiveness(),
    end() {
      closeChannels();
      return worker.end();
    },
  };
  if ((options.health?.failing().length ?? 0) > 0) member.tellHealth();
  return member;
}

/** Requests one worker's metrics across threads. */
interface MetricsRequester {
  /** Resolves to the worker's current metrics; to the last known ones if it does not answer in time. */
  ask(): Promise<Metrics>;
  receive(id: number, metrics: Metrics): void;
  /** Called when the worker does not answer any more. */
  close(): void;
}

/**
 * The wait for a worker's metrics. It is well below Prometheus's default scrape timeout of ten seconds. A worker
 * that misses it may only be busy, so its last metrics are used.
 */
const TIMEOUT_MS = 1_500;

/** Creates the requester; concurrent scrapes share one request. */
export function createMetricsRequester(
  send: (message: ToWorker) => void,
  timeoutMs = TIMEOUT_MS,
): MetricsRequester {
  let lastMetrics: Metrics = [];
  let requestId = 0;
  let pendingRequest: Promise<Metrics> | undefined;
  let finishRequest = (): void => {};

  return {
    ask() {
      pendingRequest ??= new Promise<Metrics>((resolve) => {
        requestId += 1;
        finishRequest = () => {
          clearTimeout(timer);
          pendingRequest = undefined;
          resolve(lastMetrics);
        };
        const timer = setTimeout(finishRequest, timeoutMs);
        send({ kind: "ask-metrics", id: requestId });
      });
      return pendingRequest;
    },
    receive(id, metrics) {
      // A late answer is still newer than the known values.
      lastMetrics = metrics;
      if (id === requestId) finishRequest();
    },
    close: () => finishRequest(),
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
  /** The maximum time from granting a permit to the end of its function, in milliseconds. */
  readonly longestInvocationMs: number;
  readonly send: (message: LimiterToWorker) => void;
}

interface HeldPermit {
  readonly permit: InvocationPermit;
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
    send({ kind: "limiter-spacing", quotaKey, spacingMs });
  }

  /** Ends a held permit with `leave` or `ended`. Ignores an unknown ticket. */
  function release(ticket: number, endPermit: (permit: InvocationPermit) => void): void {
    const heldPermit = held.get(ticket);
    held.delete(ticket);
    if (heldPermit === undefined) return;
    endPermit(heldPermit.permit);
    tellSpacing(heldPermit.quotaKey);
  }

  function enter({ ticket, request }: Extract<LimiterFromWorker, { kind: "limiter-enter" }>): void {
    const ask = (): void => {
      const permit = limiter.enter(request, ask);
      if (permit === undefined) {
        waiting.set(ticket, ask);
        return;
      }
      waiting.delete(ticket);
      held.set(ticket, { permit, quotaKey: request.quotaKey, sinceMs: clock.now() });
      tellSpacing(request.quotaKey);
      const { share, accountClusters } = permit;
      send({ kind: "limiter-permit", ticket, share, accountClusters });
    };
    ask();
  }

  return {
    receive(message) {
      switch (message.kind) {
        case "limiter-enter":
          return enter(message);
        case "limiter-forget": {
          const waiter = waiting.get(message.ticket);
          waiting.delete(message.ticket);
          if (waiter !== undefined) limiter.forget(waiter);
          return release(message.ticket, (permit) => permit.leave());
        }
        case "limiter-leave":
          return release(message.ticket, (permit) => permit.leave());
        case "limiter-ended":
          return release(message.ticket, (permit) => permit.ended(message.end));
      }
    },
    close() {
      for (const waiter of waiting.values()) limiter.forget(waiter);
      waiting.clear();
      for (const { permit, sinceMs } of held.values()) {
        const durationMs = clock.now() - sinceMs;
        clock.after(Math.max(0, longestInvocationMs - durationMs), () =>
          permit.ended({
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
