import type { Cluster } from "#config/cluster.ts";
import type { Stop } from "#core/stop.ts";
import type { Watch } from "#core/watch.ts";
import { type EventFacts, fillBatch } from "#delivery/batch-event.ts";
import { type RelatedBatch, type RelatedSource, withRelated } from "#delivery/related-batch.ts";
import type { Clock } from "#kube/follow/clock.ts";
import type { Invoker } from "#platforms/invoker.ts";
import {
  type Delivery,
  deliver,
  getEventReason,
  takeSameReason,
  toInvocationEnd,
} from "#relay/delivery/deliver.ts";
import type {
  InvocationLimiter,
  InvocationPermit,
  PermitRequest,
} from "#relay/delivery/invocation-limiter.ts";
import { createDeliveryHealth } from "#relay/lease/heartbeat.ts";
import type { ControllerNote } from "#relay/report/relay-note.ts";
import { getCloseDelayMs, selectLinger } from "#relay/work/batches.ts";
import type { Pending } from "#relay/work/pending.ts";
import { type Conflict, type Queue, type ReadyObject, toObjectIdentity } from "#relay/work/types.ts";

/** How one controller in a cluster reaches its function. */
export interface DeliveryOptions {
  readonly watch: Watch;
  readonly cluster: Cluster;
  readonly clusterHash: string;
  readonly limiter: InvocationLimiter;
  readonly invoker: Pick<Invoker, "invoke">;
  /** Identifies the quotas of the cluster's cloud account. */
  readonly quotaKey: string;
  readonly clock: Clock;
  readonly nextEventId: (cluster: Cluster) => string;
  readonly note: (note: ControllerNote) => void;
  /** Called when a permit may be free: starts a pass over what is due at once. */
  readonly onTurn: () => void;
  /** Returns what operators have stopped for the cluster now. */
  readonly readStop: () => Stop | undefined;
  /**
   * Returns whether the cluster has reached its limit of invocations in flight; false if that limit is one.
   */
  readonly isFull: () => boolean;
}

/** The dependencies of one controller's invocations in a cluster. */
export interface ControllerInvocationsOptions extends DeliveryOptions {
  /** The objects to send; each invocation marks its objects as in flight, and settles them when it ends. */
  readonly pending: Pending;
  /** The related objects that decisions read. */
  readonly sources: readonly RelatedSource[];
  /** Called when an invocation has ended and its objects are settled. */
  readonly onEnd: (ended: EndedInvocation) => void;
}

/** An invocation that has ended, with or without a report. */
export interface EndedInvocation {
  readonly delivery: Delivery;
  readonly startedMs: number;
  readonly endedMs: number;
  /** The conflicts that its settlements revealed. */
  readonly conflicts: readonly Conflict[];
}

/** The invocations of one controller's function for one cluster. No method waits for an invocation. */
export interface ControllerInvocations {
  /** Returns the number of invocations in flight. */
  inFlight(): number;
  /** Returns when the last batch was sent. */
  sentMs(): number;
  /** Returns the number of unused cloud resources in the last report; undefined before the first. */
  orphans(): number | undefined;
  /**
   * Returns why objects that need work may not reach the function; undefined if they do or if no object needs
   * work.
   */
  explainUndelivered(nowMs: number): string | undefined;
  /** Returns whether the controller must wait for a permit, or for an invocation to end, before it sends. */
  isHeld(): boolean;
  /**
   * Returns milliseconds until the next batch of the queue closes with this many free permits. 0 means now;
   * undefined means not before something changes.
   */
  closesInMs(queue: Queue, freeSlots: number, nowMs: number): number | undefined;
  /** Sends the batch that closes now, or queues for a permit. Returns false if there was nothing to send. */
  send(queue: Queue): boolean;
  /** Abandons one invocation, which frees its permit. */
  abandon(id: number): void;
  abandonAll(): void;
  /** Gives up a place in the queue for permits. */
  stop(): void;
}

/** Creates the invocations of a controller that has sent nothing yet. */
export function createControllerInvocations(options: ControllerInvocationsOptions): ControllerInvocations {
  const { watch, cluster, clock, limiter, pending, quotaKey } = options;
  const request: PermitRequest = {
    controller: watch.name,
    cluster: cluster.name,
    quotaKey,
    floorShare: cluster.limits.floorShare,
  };
  const monitors = watch.rechecks?.monitor !== undefined;
  const health = createDeliveryHealth();
  const running = new Map<number, AbortController>();
  /** When the last batch of each queue closed. */
  const closedMs: Partial<Record<Queue, number>> = {};
  let lastId = 0;
  let sentMs = Number.NEGATIVE_INFINITY;
  /** Whether the last invocation with a report asked the cloud. */
  let asksCloud = true;
  let orphans: number | undefined;
  /** Whether it is queued at the invocation limiter. */
  let isQueued = false;

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

  /** Fills an event with objects of the queue, and gives up those that no event can carry. */
  function fill(queue: Queue): FilledEvent {
    const batch = fillBatch(takeSameReason(pending.ready(queue, clock.now())));
    giveUp("object", batch.tooLarge);
    if (watch.related.length === 0)
      return { objects: batch.objects, tooLarge: batch.tooLarge.length, lists: undefined };
    const { objects, tooLarge, lists } = withRelated(batch.objects, options.sources);
    giveUp("related", tooLarge);
    return { objects, tooLarge: batch.tooLarge.length + tooLarge.length, lists };
  }

  function giveUp(what: "object" | "related", objects: readonly ReadyObject[]): void {
    if (objects.length === 0) return;
    for (const { uid } of objects) pending.giveUp(uid, clock.now());
    options.note({ kind: "too-large", what, objects: objects.map(toObjectIdentity) });
  }

  async function invoke(
    queue: Queue,
    objects: readonly ReadyObject[],
    lists: FilledEvent["lists"],
    permit: InvocationPermit,
  ): Promise<void> {
    const startedMs = clock.now();
    const id = ++lastId;
    const abort = new AbortController();
    running.set(id, abort);
    const uids = objects.map(({ uid }) => uid);
    pending.start(uids, id, startedMs);
    const facts = buildFacts(queue, objects, lists, permit);
    const delivery = await deliver(options.invoker, facts, objects, abort.signal);
    const endedMs = clock.now();
    const { invocation, settlements } = delivery;
    health.recordEnd(invocation);
    running.delete(id);
    if (invocation.kind === "report") asksCloud = Object.keys(invocation.report.usage.cloud.calls).length > 0;
    permit.ended(toInvocationEnd(invocation, endedMs - startedMs));
    const conflicts = pending.settle(id, settlements, endedMs);
    for (const settlement of settlements)
      if (settlement.kind === "report") orphans = settlement.report.orphans?.count ?? orphans;
    options.onEnd({ delivery, startedMs, endedMs, conflicts });
  }

  /** Describes an event whose objects are already in flight. */
  function buildFacts(
    queue: Queue,
    objects: readonly ReadyObject[],
    lists: FilledEvent["lists"],
    { share, accountClusters }: InvocationPermit,
  ): EventFacts {
    return {
      id: options.nextEventId(cluster),
      cluster,
      clusterHash: options.clusterHash,
      controller: watch.name,
      reason: monitors && queue === "work" ? "monitor" : getEventReason(queue, objects),
      share,
      accountClusters,
      related: lists,
      // A cluster with one permit can judge by its queue alone.
      busy: pending.queue("work").ready > 0 || options.isFull(),
      stop: options.readStop(),
      deletes: watch.deletes,
    };
  }

  return {
    inFlight: () => running.size,
    sentMs: () => sentMs,
    orphans: () => orphans,
    explainUndelivered(nowMs) {
      const { needed, objects } = pending.counts();
      const { ready, oldestMs } = pending.queue("work");
      const willSend = needed > 0 || (watch.rechecks?.resync !== undefined && objects > 0);
      const waitingSinceMs = ready > 0 ? oldestMs : undefined;
      return health.explainUndelivered({ willSend, waitingSinceMs }, nowMs);
    },
    isHeld() {
      if (isQueued || running.size >= (watch.invocations ?? Number.POSITIVE_INFINITY)) return true;
      // After a lost answer the function may still be running: its objects stay in flight without an
      // invocation.
      return watch.scope === "batch" && (running.size > 0 || pending.counts().inFlight > 0);
    },
    closesInMs(queue, freeSlots, nowMs) {
      const spacingMs = limiter.spacingMs(quotaKey);
      const state = { ...pending.queue(queue), closedMs: closedMs[queue], spacingMs, freeSlots, nowMs };
      return getCloseDelayMs(state, selectLinger({ queue, monitors, asksCloud }));
    },
    send,
    abandon: (id) => running.get(id)?.abort(),
    abandonAll() {
      for (const abort of running.values()) abort.abort();
    },
    stop: () => limiter.forget(onTurn),
  };
}

/** The content of an event. */
interface FilledEvent {
  readonly objects: readonly ReadyObject[];
  /** The number of objects that no event can carry. */
  readonly tooLarge: number;
  readonly lists: RelatedBatch["lists"] | undefined;
}
