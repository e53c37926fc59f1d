import type { Cluster } from "#config/cluster.ts";
import type { StopsRead } from "#config/switch/follow-stops.ts";
import type { Clock } from "#kube/follow/clock.ts";
import type { Gate } from "#relay/delivery/gate.ts";
import type { ProcessPlatformHealth } from "#relay/delivery/platform-health.ts";
import { createGateServer } from "#relay/workers/gate-server.ts";
import type { FromWorker, LogLine, Metrics } from "#relay/workers/messages.ts";
import { askMetrics } from "#relay/workers/metrics-answers.ts";
import { type Death, type Spawn, startRunningWorker } from "#relay/workers/running-worker.ts";

/** What all members of a pool have in common. */
export interface MemberOptions {
  readonly spawn: Spawn;
  readonly gate: Gate;
  readonly clock: Clock;
  /** How long after its place was given a function may still be at work. */
  readonly longestInvocationMs: number;
  readonly log: (line: LogLine) => void;
  /** Of the platform, which all workers share; without it nobody asks. */
  readonly health?: Pick<ProcessPlatformHealth, "failed" | "answered" | "failing"> | undefined;
}

/** What a pool hears of its members. */
export interface MemberHandler {
  settled(member: Member, message: Extract<FromWorker, { kind: "settled" }>): void;
  status(member: Member, message: Extract<FromWorker, { kind: "status" }>): void;
  drained(): void;
  /** It ended without having been told to; `culprit` is the cluster whose data it was handling, where that is known. */
  died(member: Member, death: Death, culprit: string | undefined): void;
}

/** One worker of a pool, with all that the main thread keeps for it. */
export interface Member {
  readonly id: number;
  isReady(): boolean;
  /** Nothing of it is in flight any more, and nothing starts. */
  isDrained(): boolean;
  /** Says what a cluster is to be there. */
  want(name: string, turn: number, cluster: Cluster | undefined, isKnown: boolean): void;
  /** Says what is stopped. */
  tellStops(read: StopsRead): void;
  drain(): void;
  /** Says which functions the platform does not run now. */
  tellHealth(): void;
  metrics(): Promise<Metrics>;
  /** Once a second. */
  turn(): void;
  end(): Promise<void>;
}

/** Starts a worker; throws where no thread can be had. */
export function startMember(id: number, options: MemberOptions, handler: MemberHandler): Member {
  /** By index: a cluster keeps its index for as long as the worker lives. */
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
        gate.receive(message);
    }
  }

  function over(): void {
    gate.close();
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
  const gate = createGateServer({ ...options, send: worker.send });
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
