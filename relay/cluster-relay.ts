import { type Cluster, quotaKeyOf, settingsOf, watchContextOf } from "#config/cluster.ts";
import type { Stops } from "#config/switch/follow-stops.ts";
import type { Watch } from "#core/controller.ts";
import type { ControllerName } from "#core/event.ts";
import { followedPath, type ObjectName, type Resource } from "#core/resources/resource.ts";
import { becauseOfStop, type Stop } from "#core/stop.ts";
import { WATCHES, watchesOf } from "#core/watches.ts";
import type { Invoker } from "#delivery/invoker.ts";
import type { LimitInForce } from "#kube/client/limit-name.ts";
import type { Transport } from "#kube/client/transport.ts";
import type { Clock } from "#kube/follow/clock.ts";
import { createPace } from "#kube/follow/pace.ts";
import { type ControllerRelay, createControllerRelay } from "#relay/controller-relay.ts";
import type { Gate } from "#relay/delivery/gate.ts";
import type { RefreshAllowance } from "#relay/delivery/refresh-allowance.ts";
import { parsingOnce } from "#relay/feed/parse-once.ts";
import { type FeedSubscriber, type ResourceFeed, startResourceFeed } from "#relay/feed/resource-feed.ts";
import { renewLease, type Vouching } from "#relay/lease/renew-lease.ts";
import { vouchingOf } from "#relay/lease/vouching.ts";
import { createAnswerLimit } from "#relay/report/answer-limit.ts";
import type { ClusterNote, RelayNote } from "#relay/report/note.ts";
import type { WaitingCount } from "#relay/report/waiting.ts";
import type { PendingCounts, Queue } from "#relay/work/pending.ts";

/** What one cluster's relay is made of. */
export interface ClusterRelayOptions {
  readonly cluster: Cluster;
  readonly clusterHash: string;
  readonly transport: Transport;
  /** Of the process: all clusters stand before the same one. */
  readonly gate: Gate;
  /** Of the process: all clusters spend from the same one. */
  readonly refreshAllowance: RefreshAllowance;
  readonly invoker: Pick<Invoker, "invoke">;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly nextEventId: (cluster: Cluster) => string;
  readonly refreshSeconds: number;
  readonly note: (note: RelayNote) => void;
  /** The way to the API server on which the Lease is renewed; without it none is. */
  readonly lease?: Transport | undefined;
  /** What operators have stopped; nothing without it. */
  readonly stops?: Pick<Stops, "of" | "onChange"> | undefined;
  /** The controllers that there are; those of this build without it. */
  readonly watches?: readonly Watch[] | undefined;
  /** Called before each object is looked at. */
  readonly onObject?: (() => void) | undefined;
}

/** How a cluster fares: all controllers together, and each. */
export interface ClusterStatus extends PendingCounts {
  readonly name: string;
  /** Complete lists are there and their watches open, or being resumed without an error. */
  readonly ready: boolean;
  readonly invocations: number;
  /** Why it is not ready, where something failed. */
  readonly failure: { readonly code: string; readonly message: string } | undefined;
  /** The limits that are in force now, each once; what they leave out heals by itself. */
  readonly limited: readonly LimitInForce[];
  /** What operators have stopped, where that is something. */
  readonly stop?: Stop | undefined;
  readonly controllers: readonly ControllerStatus[];
}

/** How a controller fares in a cluster. */
export interface ControllerStatus extends PendingCounts {
  readonly name: ControllerName;
  readonly invocations: number;
  /** Objects that wait, by why and for how long, where the controller counts them. */
  readonly waiting: readonly WaitingCount[];
  /** How much in the cloud nothing has a use for, where the controller looks for that and has. */
  readonly orphans?: number | undefined;
}

/** One cluster: what is followed of it, what is pending for its controllers, and what is in flight. */
export interface ClusterRelay {
  status(): ClusterStatus;
  /** Looks at what is due, soon. */
  wake(): void;
  /** Nothing new starts any more; resolves when nothing is in flight. */
  drain(): Promise<void>;
  /** Ends everything; what is in flight is given up. */
  close(): Promise<void>;
}

/** Starts to follow one cluster, for those of its controllers that there are. */
export function startClusterRelay(options: ClusterRelayOptions): ClusterRelay {
  const { cluster, clock } = options;
  const following = new AbortController();
  const drained: (() => void)[] = [];
  let wakes = false;
  let cancelTimer: () => void = () => {};
  let stop = stopOf();

  const quotaKey = quotaKeyOf(cluster);
  const note = (value: ClusterNote): void => options.note({ cluster: cluster.name, ...value });
  const answers = createAnswerLimit(clock, note);
  const controllers = parsingOnce(enabled(cluster, options.watches ?? WATCHES, note)).map((watch) =>
    createControllerRelay({
      ...options,
      watch,
      quotaKey,
      context: watchContextOf(cluster),
      note(each) {
        note({ controller: watch.name, ...each });
        if (each.kind !== "delivered") return;
        const told = answers.after(each.delivery, watch.resource.name);
        if (told !== undefined) note(told);
      },
      wake,
      stopOf,
      onTurn: pump,
      isFull: () => cluster.limits.invocations > 1 && invocations() >= cluster.limits.invocations,
    }),
  );
  const pace = createPace(clock, cluster.limits.watchEventsPerSecond);
  const feeds = new Map(
    subscribersByPath(controllers).map(([path, { resource, only, subscribers }]): [string, ResourceFeed] => [
      path,
      startResourceFeed({
        ...options,
        resource,
        only,
        subscribers,
        bounds: cluster.limits,
        pace,
        signal: following.signal,
        note: (each) => note({ resource: resource.name, ...each }),
      }),
    ]),
  );

  const vouching =
    options.lease === undefined || cluster.policies.dryRun
      ? undefined
      : renewLease({
          ...options,
          transport: options.lease,
          signal: following.signal,
          // Nothing is written, this Lease included; and whoever sweeps writes nothing either.
          vouching: () =>
            stopOf() === "writes" ? WRITES_STOPPED : vouchingOf(feeds.values(), controllers, clock.now()),
          note,
        });

  const stopListening = options.stops?.onChange(() => {
    const before = stop;
    stop = stopOf();
    if (before === undefined || before === stop) return;
    for (const controller of controllers) controller.resume();
    wake();
  });

  function stopOf(): Stop | undefined {
    return options.stops?.of(cluster.name);
  }

  function invocations(): number {
    let sum = 0;
    for (const controller of controllers) sum += controller.invocations();
    return sum;
  }

  /** Many lines of a watch arrive in one piece: they are looked at together. */
  function wake(): void {
    if (wakes) return;
    wakes = true;
    queueMicrotask(() => {
      wakes = false;
      if (invocations() === 0) for (const done of drained.splice(0)) done();
      pump();
    });
  }

  function pump(): void {
    if (following.signal.aborted) return;
    cancelTimer();
    const nowMs = clock.now();
    let soonestMs = Number.POSITIVE_INFINITY;
    for (const controller of controllers) {
      const reads = controller.advance(nowMs);
      if (reads.length > 0) feeds.get(pathOf(controller.watch))?.read(reads);
      soonestMs = Math.min(soonestMs, (controller.nextMs() ?? Number.POSITIVE_INFINITY) - nowMs);
    }
    soonestMs = Math.min(soonestMs, sendAll("work", nowMs), sendAll("look", nowMs));
    if (soonestMs !== Number.POSITIVE_INFINITY) cancelTimer = clock.after(Math.max(0, soonestMs), pump);
  }

  /** Sends whatever closes now, controllers taking turns; answers with how long the next batch lingers. */
  function sendAll(queue: Queue, nowMs: number): number {
    for (;;) {
      let next: ControllerRelay | undefined;
      let soonestMs = Number.POSITIVE_INFINITY;
      for (const controller of controllers) {
        if (!controller.isReady(queue)) continue;
        const waitMs = controller.closesInMs(queue, freeSlots(queue, controller, nowMs), nowMs);
        if (waitMs === undefined) {
          const patienceMs = queue === "work" ? controller.patienceMs(nowMs) : 0;
          if (patienceMs > 0) soonestMs = Math.min(soonestMs, patienceMs);
          continue;
        }
        if (waitMs > 0) soonestMs = Math.min(soonestMs, waitMs);
        else if (next === undefined || isBefore(controller, next)) next = controller;
      }
      if (next === undefined || !next.send(queue)) return soonestMs;
    }
  }

  /** Looks, and what only lasts, are behind work and leave one slot for what may come, where there is more than one. */
  function freeSlots(queue: Queue, controller: ControllerRelay, nowMs: number): number {
    const free = cluster.limits.invocations - invocations();
    if (free <= 0) return 0;
    if (queue === "work" && controller.patienceMs(nowMs) === 0) return free;
    const isBehindWork = controllers.some(
      (other) => other.isReady("work") && (queue === "look" || other.patienceMs(nowMs) === 0),
    );
    return isBehindWork ? 0 : free - (cluster.limits.invocations > 1 ? 1 : 0);
  }

  function stopFollowing(): void {
    following.abort();
    stopListening?.();
    cancelTimer();
    answers.close();
    for (const controller of controllers) controller.stop();
  }

  return {
    wake,
    status() {
      const each = controllers.map((controller): ControllerStatus => {
        const { name } = controller.watch;
        const counts = { invocations: controller.invocations(), waiting: controller.waiting() };
        return { name, ...counts, orphans: controller.orphans(), ...controller.counts() };
      });
      const followed = [...feeds.values()];
      return {
        name: cluster.name,
        ready: followed.length > 0 && followed.every((feed) => feed.isReady()),
        invocations: invocations(),
        failure:
          followed.length === 0
            ? NOTHING_TO_DO
            : followed.map((feed) => feed.failure()).find((failure) => failure !== undefined),
        ...(stopOf() === undefined ? {} : { stop: stopOf() }),
        limited: eachOnce([...followed.flatMap((feed) => feed.limited()), ...answers.limited()]),
        ...sumOf(each),
        controllers: each,
      };
    },
    async drain() {
      stopFollowing();
      if (invocations() > 0) await new Promise<void>((resolve) => drained.push(resolve));
    },
    async close() {
      stopFollowing();
      for (const controller of controllers) controller.abandon();
      await Promise.all([...[...feeds.values()].map(({ ended }) => ended), vouching]);
    },
  };
}

const WRITES_STOPPED: Vouching = { kind: "doubts", because: becauseOfStop("writes") };
const NOTHING_TO_DO = { code: "NoController", message: "none of the cluster's controllers is known here" };

/** Of two whose batches close, the one with less in flight is first; then the one that has waited longer for its turn. */
function isBefore(one: ControllerRelay, other: ControllerRelay): boolean {
  const difference = one.invocations() - other.invocations();
  return difference === 0 ? one.sentMs() < other.sentMs() : difference < 0;
}

function eachOnce(limited: readonly LimitInForce[]): readonly LimitInForce[] {
  return limited.filter(({ limit }, index) => limited.findIndex((each) => each.limit === limit) === index);
}

function enabled(
  cluster: Cluster,
  watches: readonly Watch[],
  note: (note: ClusterNote) => void,
): readonly Watch[] {
  const found: Watch[] = [];
  const settings = settingsOf(cluster);
  for (const controller of new Set(cluster.controllers)) {
    const known = watches.find(({ name, beside }) => name === controller && beside === undefined);
    if (known === undefined) note({ kind: "unknown-controller", controller });
    else found.push(...watchesOf([controller], watches).filter((watch) => watch.isFor?.(settings) !== false));
  }
  return found;
}

interface Subscribed {
  readonly resource: Resource;
  readonly only: ObjectName | undefined;
  readonly subscribers: FeedSubscriber[];
}

function pathOf({ resource, only }: Pick<Watch, "resource" | "only">): string {
  return followedPath(resource, only);
}

/** One entry for each resource that a controller is about or relates to, and for each object that one follows alone. */
function subscribersByPath(
  controllers: readonly ControllerRelay[],
): readonly (readonly [path: string, subscribed: Subscribed])[] {
  const subscribed = new Map<string, Subscribed>();
  for (const { resource, only, subscriber } of controllers.flatMap(({ subscriptions }) => subscriptions)) {
    const path = followedPath(resource, only);
    const entry = subscribed.get(path) ?? { resource, only, subscribers: [] };
    entry.subscribers.push(subscriber);
    subscribed.set(path, entry);
  }
  return [...subscribed];
}

function sumOf(each: readonly PendingCounts[]): PendingCounts {
  const sum = { objects: 0, needed: 0, inFlight: 0, due: { work: 0, look: 0 } };
  for (const { objects, needed, inFlight, due } of each) {
    sum.objects += objects;
    sum.needed += needed;
    sum.inFlight += inFlight;
    sum.due.work += due.work;
    sum.due.look += due.look;
  }
  return sum;
}
