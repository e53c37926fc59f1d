import type { Cluster } from "#config/cluster.ts";
import type { ObjectName, Resource } from "#core/resources/resource.ts";
import type { Stop } from "#core/stop.ts";
import type { ApiObject, WaitingGauge, Watch, WatchContext } from "#core/watch.ts";
import { fillBatch, getRefreshPeriod } from "#delivery/batch-event.ts";
import { type RelatedBatch, withRelated } from "#delivery/related-batch.ts";
import type { Clock } from "#kube/follow/clock.ts";
import type { ObjectKey } from "#kube/follow/object-key.ts";
import type { Invoker } from "#platforms/invoker.ts";
import {
  deliver,
  getEventReason,
  selectChanged,
  takeSameReason,
  toInvocationEnd,
} from "#relay/delivery/deliver.ts";
import type {
  InvocationLimiter,
  InvocationPermit,
  PermitRequest,
} from "#relay/delivery/invocation-limiter.ts";
import type { RefreshAllowance } from "#relay/delivery/refresh-allowance.ts";
import type { InformerSubscriber } from "#relay/informer/informer.ts";
import { createRelatedSide } from "#relay/informer/related-side.ts";
import { createDeliveryHealth } from "#relay/lease/heartbeat.ts";
import { createDelays } from "#relay/report/delays.ts";
import type { ControllerNote } from "#relay/report/relay-note.ts";
import { createWaiting, type WaitingCount } from "#relay/report/waiting.ts";
import { type Observed, observe } from "#relay/work/apply-observed.ts";
import { getCloseDelayMs, selectLinger } from "#relay/work/batches.ts";
import { createPending } from "#relay/work/pending.ts";
import type { ObjectIdentity, PendingCounts, Queue, ReadyObject } from "#relay/work/types.ts";

/** The dependencies and settings of one controller in a cluster's relay. */
export interface ControllerRelayOptions {
  readonly watch: Watch;
  readonly cluster: Cluster;
  readonly clusterHash: string;
  readonly context: WatchContext;
  readonly limiter: InvocationLimiter;
  readonly refreshAllowance: RefreshAllowance;
  readonly invoker: Pick<Invoker, "invoke">;
  /** Identifies the quotas of the cluster's cloud account. */
  readonly quotaKey: string;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly nextEventId: (cluster: Cluster) => string;
  readonly note: (note: ControllerNote) => void;
  /** Schedules a pass over what is due. */
  readonly wake: () => void;
  /** Called when a permit may be free: starts a pass over what is due at once. */
  readonly onTurn: () => void;
  /** Returns what operators have stopped for the cluster now. */
  readonly readStop: () => Stop | undefined;
  /**
   * Returns whether the cluster has reached its limit of invocations in flight; false if that limit is one.
   */
  readonly isFull: () => boolean;
}

/** One controller in one cluster: its pending objects and its invocations in flight. */
export interface ControllerRelay {
  readonly watch: Watch;
  /** Its subscriptions to informers, by resource. */
  readonly subscriptions: readonly Subscription[];
  invocations(): number;
  /** Returns when it last sent a batch. */
  sentMs(): number;
  counts(): PendingCounts;
  /**
   * Returns why objects that need work may not reach the function; undefined if they do or if no object needs
   * work.
   */
  explainUndelivered(nowMs: number): string | undefined;
  /** Returns the waiting objects, if the controller counts them. */
  waiting(): readonly WaitingCount[];
  /** Returns the number of unused cloud resources in the last report; undefined before the first. */
  orphans(): number | undefined;
  /** Moves due objects to their queue. Returns the objects to read again. */
  advance(nowMs: number): readonly ObjectIdentity[];
  /** Returns when the next object becomes due by itself. */
  nextMs(): number | undefined;
  /**
   * Returns for how many milliseconds others' work may still go first, because this controller monitors
   * lasting states; 0 if not at all.
   */
  patienceMs(nowMs: number): number;
  /** Returns whether objects wait only because of the cluster's limits. */
  isReady(queue: Queue): boolean;
  /**
   * Returns milliseconds until the next batch of the queue closes with this many free permits. 0 means now;
   * undefined means not before something changes.
   */
  closesInMs(queue: Queue, freeSlots: number, nowMs: number): number | undefined;
  /** Sends the batch that closes now, or queues for a permit. Returns false if there was nothing to send. */
  send(queue: Queue): boolean;
  /** Makes objects due that waited for an operator's stop to end. */
  resume(): void;
  /** Stops processing; what is in flight finishes. */
  stop(): void;
  /** Abandons what is in flight. */
  abandon(): void;
}

/** A subscription to the informer of a resource, or to a single object of it. */
interface Subscription {
  readonly resource: Resource;
  readonly only?: ObjectName | undefined;
  readonly isOptional?: boolean | undefined;
  readonly subscriber: InformerSubscriber;
}

/**
 * Creates the relay of one controller in one cluster. It acts when an informer reports an object, and when
 * the cluster's relay calls `send`.
 */
export function createControllerRelay(options: ControllerRelayOptions): ControllerRelay {
  const { watch, cluster, clock, context, limiter, quotaKey, note } = options;
  const request: PermitRequest = {
    controller: watch.name,
    cluster: cluster.name,
    quotaKey,
    floorShare: cluster.limits.floorShare,
  };
  const pending = createPending(watch, options.random);
  const { settings } = context;
  const { resync, monitor } = watch.rechecks ?? {};
  const waits = (rule: Pick<WaitingGauge, "isWaiting">) => (object: ApiObject) =>
    rule.isWaiting(object, settings);
  const delays = createDelays((watch.metrics?.delays ?? []).map((each) => ({ ...each, waits: waits(each) })));
  const deliveryHealth = createDeliveryHealth();
  const gauge = watch.metrics?.waiting;
  const waiting = createWaiting(gauge && { ...gauge, isWaiting: waits(gauge) });
  const running = new Map<number, AbortController>();
  /** When the last batch of each queue closed. */
  const closedMs: Partial<Record<Queue, number>> = {};
  let invocations = 0;
  let sentMs = Number.NEGATIVE_INFINITY;
  let asksCloud = true;
  let orphans: number | undefined;
  /** Whether it is queued at the invocation limiter. */
  let isQueued = false;

  const related = createRelatedSide({
    related: watch.related,
    clock,
    onComplete: options.wake,
    onChange(uids) {
      for (const uid of uids) pending.requeue(uid, clock.now());
      options.wake();
    },
  });

  const own: InformerSubscriber<Observed> = {
    read: (object) => observe(watch, object, context),
    applied: apply,
    deleted: ({ uid }) => forget(uid),
    restarted: () => pending.restarted(),
    named(object, key) {
      if (pending.has(key.uid)) apply(observe(watch, object, context), key, true);
    },
    ...(resync === undefined
      ? {}
      : {
          resyncs: {
            everySeconds: getRefreshPeriod(resync, context.settings),
            outstanding: () => pending.queue("look").ready,
            look(object, key) {
              const observed = pending.has(key.uid) ? observe(watch, object, context) : undefined;
              if (observed?.kind !== "object" || observed.needsWork || !mayRefresh()) return;
              pending.requestResync(key, observed.snapshot, clock.now(), 0);
              options.wake();
            },
          },
        }),
  };

  /** Returns whether a refresh is within the allowance of the cloud account's clusters. */
  function mayRefresh(): boolean {
    const perSecond = resync?.refreshesPerSecond;
    if (perSecond === undefined) return true;
    const request = { controller: watch.name, quotaKey, perSecond, resyncedMs: sentMs };
    return options.refreshAllowance.take(request, clock.now());
  }

  function apply(observed: Observed, key: ObjectKey, isLive: boolean): void {
    if (observed.kind === "malformed") {
      forget(key.uid);
      note({ kind: "malformed", ...toObjectName(key), faults: observed.faults });
      return;
    }
    if (watch.related.length > 0) {
      if (observed.needsWork || observed.followsRelated) related.track(key.uid, observed.snapshot);
      else related.forget(key.uid);
    }
    const shown = { snapshot: observed.snapshot, isKnown: pending.has(key.uid), isLive };
    for (const delay of delays.shown(shown, clock.now(), clock.wallTime())) note(delay);
    waiting.shown(shown, clock.now(), clock.wallTime());
    // A list does not show how long a state has lasted: after a start, the first check does not wait for a
    // period.
    const due = isLive || observed.afterMs === undefined ? observed : { ...observed, afterMs: 0 };
    const undone = pending.applied(due, key, clock.now());
    if (undone !== undefined) note({ kind: "undone", ...undone });
    options.wake();
  }

  /** Ends an invocation that carries no living object any more, which frees its permit. */
  function forget(uid: string): void {
    related.forget(uid);
    delays.forget(uid);
    waiting.forget(uid);
    const invocationId = pending.deleted(uid);
    if (invocationId !== undefined) running.get(invocationId)?.abort();
    options.wake();
  }

  /** Whether anything may be sent, as far as the controller itself is concerned. */
  function isHeld(): boolean {
    if (isQueued || !related.isComplete()) return true;
    if (running.size >= (watch.invocations ?? Number.POSITIVE_INFINITY)) return true;
    // After a lost answer the function may still be running: its objects stay in flight without an
    // invocation.
    return watch.scope === "batch" && (running.size > 0 || pending.counts().inFlight > 0);
  }

  const onTurn = (): void => {
    isQueued = false;
    options.onTurn();
  };

  function send(queue: Queue): boolean {
    const permit = limiter.enter(request, onTurn);
    isQueued = permit === undefined;
    if (permit === undefined) return true;
    sentMs = clock.now();
    closedMs[queue] = sentMs;
    const { objects, tooLarge, lists } = fill(queue);
    if (objects.length > 0) void invoke(queue, objects, lists, permit);
    else permit.leave();
    return objects.length > 0 || tooLarge > 0;
  }

  /** Returns the batch, and the number of objects that no event can carry. */
  function fill(queue: Queue): FilledEvent {
    const batch = fillBatch(takeSameReason(pending.ready(queue, clock.now())));
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
    note({ kind: "too-large", what, objects: objects.map(toObjectName) });
  }

  async function invoke(
    queue: Queue,
    objects: readonly ReadyObject[],
    lists: FilledEvent["lists"],
    permit: InvocationPermit,
  ): Promise<void> {
    const startedMs = clock.now();
    const invocationId = ++invocations;
    const abort = new AbortController();
    running.set(invocationId, abort);
    pending.start(
      objects.map(({ uid }) => uid),
      invocationId,
      startedMs,
    );
    const facts = {
      id: options.nextEventId(cluster),
      cluster,
      clusterHash: options.clusterHash,
      controller: watch.name,
      reason: monitor === undefined || queue === "look" ? getEventReason(queue, objects) : "monitor",
      share: permit.share,
      accountClusters: permit.accountClusters,
      related: lists,
      // A cluster with one permit can judge by its queue alone.
      busy: pending.queue("work").ready > 0 || options.isFull(),
      stop: options.readStop(),
      deletes: watch.deletes,
    };
    const delivery = await deliver(options.invoker, facts, objects, abort.signal);
    const endedMs = clock.now();
    const { invocation, settlements } = delivery;
    deliveryHealth.recordEnd(invocation);
    running.delete(invocationId);
    if (invocation.kind === "report")
      asksCloud = Object.keys(invocation.report.usage.cloud.calls).length > 0;
    permit.ended(toInvocationEnd(invocation, endedMs - startedMs));
    const undone = pending.settle(invocationId, settlements, endedMs);
    const code = invocation.kind === "report" ? undefined : invocation.code;
    for (const [index, settlement] of settlements.entries()) {
      const { uid } = objects[index] ?? {};
      if (uid !== undefined) waiting.settled(uid, settlement, code);
      if (settlement.kind === "report") orphans = settlement.report.orphans?.count ?? orphans;
    }
    note({ kind: "delivered", delivery, startedMs, endedMs });
    for (const { snapshot } of selectChanged(delivery))
      for (const delay of delays.changed(snapshot, startedMs, endedMs)) note(delay);
    for (const each of undone) note({ kind: "undone", ...each });
    options.wake();
  }

  return {
    watch,
    subscriptions: [
      { resource: watch.resource, only: watch.only, isOptional: watch.isOptional, subscriber: own },
      ...related.sources.map(({ objects: { resource, subscriber } }) => ({ resource, subscriber })),
    ],
    invocations: () => running.size,
    sentMs: () => sentMs,
    counts: () => pending.counts(),
    explainUndelivered(nowMs) {
      const { needed, objects } = pending.counts();
      const { ready, oldestMs } = pending.queue("work");
      const willSend = needed > 0 || (resync !== undefined && objects > 0);
      return deliveryHealth.explainUndelivered(
        { willSend, waitingSinceMs: ready > 0 ? oldestMs : undefined },
        nowMs,
      );
    },
    waiting: () => waiting.counts(clock.now(), clock.wallTime()),
    orphans: () => orphans,
    advance: (nowMs) => pending.advance(nowMs),
    nextMs: () => pending.nextMs(),
    patienceMs: (nowMs) =>
      monitor === undefined ? 0 : Math.max(0, pending.queue("work").oldestMs + LONGEST_PATIENCE_MS - nowMs),
    isReady: (queue) => pending.queue(queue).ready > 0 && !isHeld(),
    closesInMs(queue, freeSlots, nowMs) {
      const spacingMs = limiter.spacingMs(quotaKey);
      const state = { ...pending.queue(queue), closedMs: closedMs[queue], spacingMs, freeSlots, nowMs };
      return getCloseDelayMs(state, selectLinger({ queue, monitors: monitor !== undefined, asksCloud }));
    },
    send,
    resume: () => pending.requeueAll(clock.now()),
    stop() {
      limiter.forget(onTurn);
      related.close();
    },
    abandon() {
      for (const abort of running.values()) abort.abort();
    },
  };
}

/** The longest time that lasting states wait behind others' work. */
const LONGEST_PATIENCE_MS = 30_000;

interface FilledEvent {
  readonly objects: readonly ReadyObject[];
  readonly tooLarge: number;
  readonly lists: RelatedBatch["lists"] | undefined;
}

function toObjectName({ namespace, name, uid }: ObjectIdentity): ObjectIdentity {
  return namespace === undefined ? { name, uid } : { namespace, name, uid };
}
