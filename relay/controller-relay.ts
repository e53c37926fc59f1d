import type { Cluster } from "#config/cluster.ts";
import type { ApiObject, Waiting, Watch, WatchContext } from "#core/controller.ts";
import type { EventReason } from "#core/event.ts";
import type { ObjectName, Resource } from "#core/resources/resource.ts";
import type { Stop } from "#core/stop.ts";
import { fillBatch } from "#delivery/fill-batch.ts";
import { type Invocation, type Invoker, isRefusal } from "#delivery/invoker.ts";
import { periodOf } from "#delivery/period-of.ts";
import { type RelatedBatch, withRelated } from "#delivery/related-of-batch.ts";
import type { Clock } from "#kube/follow/clock.ts";
import type { ObjectKey } from "#kube/follow/object-key.ts";
import { type Delivery, deliver } from "#relay/delivery/deliver.ts";
import type { Gate, GateRequest, InvocationEnd, Place } from "#relay/delivery/gate.ts";
import type { RefreshAllowance } from "#relay/delivery/refresh-allowance.ts";
import { createRelatedSide } from "#relay/feed/related-side.ts";
import type { FeedSubscriber } from "#relay/feed/resource-feed.ts";
import { createDeliveries } from "#relay/lease/deliveries.ts";
import { createDelays } from "#relay/report/delays.ts";
import type { ControllerNote } from "#relay/report/note.ts";
import { createWaiting, type WaitingCount } from "#relay/report/waiting.ts";
import { closesInMs, LINGER } from "#relay/work/batches.ts";
import { type Observed, observe } from "#relay/work/observed.ts";
import {
  createPending,
  type KnownObject,
  type PendingCounts,
  type Queue,
  type ReadyObject,
} from "#relay/work/pending.ts";

/** What one controller's part of a cluster's relay is made of. */
export interface ControllerRelayOptions {
  readonly watch: Watch;
  readonly cluster: Cluster;
  readonly clusterHash: string;
  readonly context: WatchContext;
  readonly gate: Gate;
  readonly refreshAllowance: RefreshAllowance;
  readonly invoker: Pick<Invoker, "invoke">;
  /** Of the cluster's cloud account. */
  readonly quotaKey: string;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly nextEventId: (cluster: Cluster) => string;
  readonly note: (note: ControllerNote) => void;
  /** Asks for a look at what is due, soon. */
  readonly wake: () => void;
  /** There may be leave for an invocation: looks at what is due, at once. */
  readonly onTurn: () => void;
  /** What operators have stopped for the cluster now. */
  readonly stopOf: () => Stop | undefined;
  /** Whether as much is in flight as the cluster allows, where that is more than one. */
  readonly isFull: () => boolean;
}

/** One controller in one cluster: what is pending for it, and what of that is in flight. */
export interface ControllerRelay {
  readonly watch: Watch;
  /** Its part in the feeds, by resource. */
  readonly subscriptions: readonly Subscription[];
  invocations(): number;
  /** When it last sent something. */
  sentMs(): number;
  counts(): PendingCounts;
  /** Why what needs work may not reach the function; undefined where it does, or where nothing needs it. */
  undelivered(nowMs: number): string | undefined;
  /** Objects that wait, where the controller counts them. */
  waiting(): readonly WaitingCount[];
  /** How much in the cloud nothing has a use for, as last reported; undefined before it was. */
  orphans(): number | undefined;
  /** Moves what has become due to its queue; answers with objects that are to be read. */
  advance(nowMs: number): readonly KnownObject[];
  /** When something becomes due by itself. */
  nextMs(): number | undefined;
  /** Milliseconds for which it may be kept behind others' work yet, as it looks after what lasts; 0 where it may not. */
  patienceMs(nowMs: number): number;
  /** Whether objects wait that only the cluster's limits keep from being sent. */
  isReady(queue: Queue): boolean;
  /** Milliseconds until the next batch of those closes with so many slots free: 0 is now, undefined is not before something changes. */
  closesInMs(queue: Queue, freeSlots: number, nowMs: number): number | undefined;
  /** Sends the batch that closes now, or stands in the queue for leave to; false where there was nothing to send after all. */
  send(queue: Queue): boolean;
  /** Something that was stopped is so no longer: what waits for that is due. */
  resume(): void;
  /** Nothing is looked at any more … */
  stop(): void;
  /** … and what is in flight is given up. */
  abandon(): void;
}

/** A part in the feed of a resource, or of the one object of it. */
interface Subscription {
  readonly resource: Resource;
  readonly only?: ObjectName | undefined;
  readonly subscriber: FeedSubscriber;
}

/** Sets up one controller in one cluster; it moves when its subscriptions are told something, and when it is asked to send. */
export function createControllerRelay(options: ControllerRelayOptions): ControllerRelay {
  const { watch, cluster, clock, context, gate, quotaKey, note } = options;
  const request: GateRequest = {
    controller: watch.name,
    cluster: cluster.name,
    quotaKey,
    floorShare: cluster.limits.floorShare,
  };
  const pending = createPending(watch, options.random);
  const { settings } = context;
  const waits = (rule: Pick<Waiting, "waits">) => (object: ApiObject) => rule.waits(object, settings);
  const delays = createDelays((watch.delays ?? []).map((each) => ({ ...each, waits: waits(each) })));
  const deliveries = createDeliveries();
  const waiting = createWaiting(watch.waiting && { ...watch.waiting, waits: waits(watch.waiting) });
  const running = new Map<number, AbortController>();
  /** When the last batch of each queue closed. */
  const closedMs: Partial<Record<Queue, number>> = {};
  let flights = 0;
  let sentMs = Number.NEGATIVE_INFINITY;
  let orphans: number | undefined;
  /** Whether it stands in the gate's queue. */
  let isQueued = false;

  const related = createRelatedSide({
    related: watch.related,
    clock,
    onComplete: options.wake,
    onChange(uids) {
      for (const uid of uids) pending.wake(uid, clock.now());
      options.wake();
    },
  });

  const own: FeedSubscriber<Observed> = {
    read: (object) => observe(watch, object, context),
    applied: apply,
    deleted: ({ uid }) => forget(uid),
    restarted: () => pending.restarted(),
    named(object, key) {
      if (pending.has(key.uid)) apply(observe(watch, object, context), key, true);
    },
    ...(watch.looks === undefined
      ? {}
      : {
          looks: {
            everySeconds: periodOf(watch.looks, context.settings),
            outstanding: () => pending.queue("look").ready,
            look(object, key) {
              const observed = pending.has(key.uid) ? observe(watch, object, context) : undefined;
              if (observed?.kind !== "object" || observed.needsWork || !mayRefresh()) return;
              pending.look(key, observed.snapshot, clock.now(), 0);
              options.wake();
            },
          },
        }),
  };

  /** Whether a refresh is within what the cloud account's clusters may spend on them. */
  function mayRefresh(): boolean {
    const perSecond = watch.looks?.refreshesPerSecond;
    if (perSecond === undefined) return true;
    const request = { controller: watch.name, quotaKey, perSecond, lookedMs: sentMs };
    return options.refreshAllowance.take(request, clock.now());
  }

  function apply(observed: Observed, key: ObjectKey, isLive: boolean): void {
    if (observed.kind === "malformed") {
      forget(key.uid);
      note({ kind: "malformed", ...nameOf(key), faults: observed.faults });
      return;
    }
    if (watch.related.length > 0) {
      if (observed.needsWork || observed.followsRelated) related.needs(key.uid, observed.snapshot);
      else related.forget(key.uid);
    }
    const shown = { snapshot: observed.snapshot, isKnown: pending.has(key.uid), isLive };
    for (const delay of delays.shown(shown, clock.now(), clock.wallTime())) note(delay);
    waiting.shown(shown, clock.now(), clock.wallTime());
    // How long the state that a list tells of has lasted is not known: the first look after a start does not wait for a period.
    const due = isLive || observed.afterMs === undefined ? observed : { ...observed, afterMs: 0 };
    const undone = pending.applied(due, key, clock.now());
    if (undone !== undefined) note({ kind: "undone", ...undone });
    options.wake();
  }

  /** An invocation that nobody waits for any more holds no slot. */
  function forget(uid: string): void {
    related.forget(uid);
    delays.forget(uid);
    waiting.forget(uid);
    const flight = pending.deleted(uid);
    if (flight !== undefined) running.get(flight)?.abort();
    options.wake();
  }

  /** Whether anything may be sent, as far as the controller itself is concerned. */
  function isHeld(): boolean {
    if (isQueued || !related.isComplete()) return true;
    if (running.size >= (watch.invocations ?? Number.POSITIVE_INFINITY)) return true;
    // After a lost answer the function may go on for a while: its objects are in flight, although no invocation is.
    return watch.scope === "batch" && (running.size > 0 || pending.counts().inFlight > 0);
  }

  const onTurn = (): void => {
    isQueued = false;
    options.onTurn();
  };

  function send(queue: Queue): boolean {
    const place = gate.enter(request, onTurn);
    isQueued = place === undefined;
    if (place === undefined) return true;
    sentMs = clock.now();
    closedMs[queue] = sentMs;
    const { objects, tooLarge, lists } = fill(queue);
    if (objects.length > 0) void fly(queue, objects, lists, place);
    else place.leave();
    return objects.length > 0 || tooLarge > 0;
  }

  /** The batch, and how many objects no event can carry. */
  function fill(queue: Queue): Filled {
    const batch = fillBatch(alike(pending.ready(queue, clock.now())));
    giveUp("object", batch.tooLarge);
    if (watch.related.length === 0)
      return { objects: batch.objects, tooLarge: batch.tooLarge.length, lists: undefined };
    const { objects, tooLarge, lists } = withRelated(batch.objects, related.sources);
    giveUp("related", tooLarge);
    return { objects, tooLarge: batch.tooLarge.length + tooLarge.length, lists };
  }

  function giveUp(what: "object" | "related", objects: readonly ReadyObject[]): void {
    if (objects.length === 0) return;
    for (const { uid } of objects) pending.giveUp(uid, clock.now());
    note({ kind: "too-large", what, objects: objects.map(nameOf) });
  }

  async function fly(
    queue: Queue,
    objects: readonly ReadyObject[],
    lists: Filled["lists"],
    place: Place,
  ): Promise<void> {
    const startedMs = clock.now();
    const flight = ++flights;
    const abort = new AbortController();
    running.set(flight, abort);
    pending.start(
      objects.map(({ uid }) => uid),
      flight,
      startedMs,
    );
    const facts = {
      id: options.nextEventId(cluster),
      cluster,
      clusterHash: options.clusterHash,
      controller: watch.name,
      reason: watch.monitors === undefined || queue === "look" ? reasonOf(queue, objects) : "monitor",
      share: place.share,
      accountClusters: place.accountClusters,
      related: lists,
      // A cluster with one slot has nothing but the queue to tell by.
      busy: pending.queue("work").ready > 0 || options.isFull(),
      stop: options.stopOf(),
      deletes: watch.deletes,
    };
    const delivery = await deliver(options.invoker, facts, objects, abort.signal);
    const endedMs = clock.now();
    const { invocation, settlements } = delivery;
    deliveries.ended(invocation);
    running.delete(flight);
    place.ended(endOf(invocation, endedMs - startedMs));
    const undone = pending.settle(flight, settlements, endedMs);
    const code = invocation.kind === "report" ? undefined : invocation.code;
    for (const [index, settlement] of settlements.entries()) {
      const { uid } = objects[index] ?? {};
      if (uid !== undefined) waiting.settled(uid, settlement, code);
      if (settlement.kind === "report") orphans = settlement.report.orphans?.count ?? orphans;
    }
    note({ kind: "delivered", delivery, startedMs, endedMs });
    for (const { snapshot } of changedOf(delivery))
      for (const delay of delays.changed(snapshot, startedMs, endedMs)) note(delay);
    for (const each of undone) note({ kind: "undone", ...each });
    options.wake();
  }

  return {
    watch,
    subscriptions: [
      { resource: watch.resource, only: watch.only, subscriber: own },
      ...related.sources.map(({ objects: { resource, subscriber } }) => ({ resource, subscriber })),
    ],
    invocations: () => running.size,
    sentMs: () => sentMs,
    counts: () => pending.counts(),
    undelivered(nowMs) {
      const { needed, objects } = pending.counts();
      const { ready, oldestMs } = pending.queue("work");
      const willSend = needed > 0 || (watch.looks !== undefined && objects > 0);
      return deliveries.undelivered({ willSend, waitingSinceMs: ready > 0 ? oldestMs : undefined }, nowMs);
    },
    waiting: () => waiting.counts(clock.now(), clock.wallTime()),
    orphans: () => orphans,
    advance: (nowMs) => pending.advance(nowMs),
    nextMs: () => pending.nextMs(),
    patienceMs: (nowMs) =>
      watch.monitors === undefined
        ? 0
        : Math.max(0, pending.queue("work").oldestMs + LONGEST_PATIENCE_MS - nowMs),
    isReady: (queue) => pending.queue(queue).ready > 0 && !isHeld(),
    closesInMs(queue, freeSlots, nowMs) {
      const spacingMs = gate.spacingMs(quotaKey);
      const state = { ...pending.queue(queue), closedMs: closedMs[queue], spacingMs, freeSlots, nowMs };
      return closesInMs(state, LINGER[queue]);
    },
    send,
    resume: () => pending.wakeAll(clock.now()),
    stop() {
      gate.forget(onTurn);
      related.close();
    },
    abandon() {
      for (const abort of running.values()) abort.abort();
    },
  };
}

/** Behind others' work, what lasts waits so long at most. */
const LONGEST_PATIENCE_MS = 30_000;

interface Filled {
  readonly objects: readonly ReadyObject[];
  readonly tooLarge: number;
  readonly lists: RelatedBatch["lists"] | undefined;
}

function endOf(invocation: Invocation, durationMs: number): InvocationEnd {
  if (invocation.kind === "report") {
    const { calls, throttled, waitedMs } = invocation.report.usage.cloud;
    return {
      code: undefined,
      refused: false,
      settleMs: 0,
      durationMs,
      usage: { calls: sumOf(calls), throttled, waitedMs },
    };
  }
  const { code, settleMs } = invocation;
  return { code, refused: isRefusal(invocation), settleMs, durationMs, usage: undefined };
}

function sumOf(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/** What was sent and reported to have changed. */
function changedOf({ objects, settlements }: Delivery): readonly ReadyObject[] {
  return objects.filter((_, index) => {
    const settlement = settlements[index];
    return settlement?.kind === "report" && settlement.report.outcome === "changed";
  });
}

/** An event has one reason: looks at everything go apart from those for the sake of related objects. */
function* alike(ready: Iterable<ReadyObject>): Iterable<ReadyObject> {
  let first: ReadyObject | undefined;
  for (const object of ready) {
    first ??= object;
    if (object.look === first.look) yield object;
  }
}

function reasonOf(queue: Queue, objects: readonly ReadyObject[]): EventReason {
  if (queue === "look") return objects[0]?.look ?? "refresh";
  return objects.every(({ again }) => again) ? "retry" : "watch";
}

function nameOf({ namespace, name, uid }: KnownObject): KnownObject {
  return namespace === undefined ? { name, uid } : { namespace, name, uid };
}
