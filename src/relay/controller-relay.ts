import type { ObjectName, Resource } from "#core/resources/resource.ts";
import type { ApiObject, WaitingGauge, Watch, WatchContext } from "#core/watch.ts";
import { getRefreshPeriod } from "#delivery/batch-event.ts";
import type { ObjectKey } from "#kube/follow/object-key.ts";
import {
  type ControllerInvocations,
  createControllerInvocations,
  type DeliveryOptions,
  type EndedInvocation,
} from "#relay/delivery/controller-invocations.ts";
import { selectChanged } from "#relay/delivery/deliver.ts";
import type { RefreshAllowance } from "#relay/delivery/refresh-allowance.ts";
import type { InformerSubscriber } from "#relay/informer/informer.ts";
import { createRelatedSide } from "#relay/informer/related-side.ts";
import { createDelays } from "#relay/report/delays.ts";
import { createWaiting, type WaitingCount } from "#relay/report/waiting.ts";
import { type Observed, observe } from "#relay/work/apply-observed.ts";
import { createPending } from "#relay/work/pending.ts";
import { type ObjectIdentity, type PendingCounts, type Queue, toObjectIdentity } from "#relay/work/types.ts";

/** The dependencies and settings of one controller in a cluster's relay. */
export interface ControllerRelayOptions extends DeliveryOptions {
  readonly context: WatchContext;
  readonly refreshAllowance: RefreshAllowance;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** Schedules a pass over what is due. */
  readonly wake: () => void;
}

/** One controller in one cluster: its pending objects and its invocations in flight. */
export interface ControllerRelay
  extends Pick<ControllerInvocations, "sentMs" | "orphans" | "explainUndelivered" | "closesInMs" | "send"> {
  readonly watch: Watch;
  /** Its subscriptions to informers, by resource. */
  readonly subscriptions: readonly Subscription[];
  /** Returns the number of invocations in flight. */
  invocations(): number;
  counts(): PendingCounts;
  /** Returns the waiting objects, if the controller counts them. */
  waiting(): readonly WaitingCount[];
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
  const { watch, clock, context, note } = options;
  const pending = createPending(watch, options.random);
  const { settings } = context;
  const { resync, monitor } = watch.rechecks ?? {};
  const judge = (rule: Pick<WaitingGauge, "isWaiting">) => ({
    isWaiting: (object: ApiObject) => rule.isWaiting(object, settings),
  });
  const delays = createDelays((watch.metrics?.delays ?? []).map((each) => ({ ...each, ...judge(each) })));
  const gauge = watch.metrics?.waiting;
  const waiting = createWaiting(gauge && { ...gauge, ...judge(gauge) });
  const related = createRelatedSide({
    related: watch.related,
    clock,
    onComplete: options.wake,
    onChange(uids) {
      for (const uid of uids) pending.requeue(uid, clock.now());
      options.wake();
    },
  });

  const invocations = createControllerInvocations({
    ...options,
    pending,
    sources: related.sources,
    onEnd: reportEnd,
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
    const request = {
      controller: watch.name,
      quotaKey: options.quotaKey,
      perSecond,
      resyncedMs: invocations.sentMs(),
    };
    return options.refreshAllowance.take(request, clock.now());
  }

  function apply(observed: Observed, key: ObjectKey, isLive: boolean): void {
    if (observed.kind === "malformed") {
      forget(key.uid);
      note({ kind: "malformed", ...toObjectIdentity(key), faults: observed.faults });
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
    if (invocationId !== undefined) invocations.abandon(invocationId);
    options.wake();
  }

  /** Reports an invocation that has ended, and the delays and reasons to wait that it shows. */
  function reportEnd({ delivery, startedMs, endedMs, conflicts }: EndedInvocation): void {
    const { objects, invocation, settlements } = delivery;
    const code = invocation.kind === "report" ? undefined : invocation.code;
    for (const [index, settlement] of settlements.entries()) {
      const { uid } = objects[index] ?? {};
      if (uid !== undefined) waiting.settled(uid, settlement, code);
    }
    note({ kind: "delivered", delivery, startedMs, endedMs });
    for (const { snapshot } of selectChanged(delivery))
      for (const delay of delays.changed(snapshot, startedMs, endedMs)) note(delay);
    for (const conflict of conflicts) note({ kind: "undone", ...conflict });
    options.wake();
  }

  return {
    watch,
    subscriptions: [
      { resource: watch.resource, only: watch.only, isOptional: watch.isOptional, subscriber: own },
      ...related.sources.map(({ objects: { resource, subscriber } }) => ({ resource, subscriber })),
    ],
    invocations: invocations.inFlight,
    sentMs: invocations.sentMs,
    orphans: invocations.orphans,
    explainUndelivered: invocations.explainUndelivered,
    closesInMs: invocations.closesInMs,
    send: invocations.send,
    counts: () => pending.counts(),
    waiting: () => waiting.counts(clock.now(), clock.wallTime()),
    advance: (nowMs) => pending.advance(nowMs),
    nextMs: () => pending.nextMs(),
    patienceMs: (nowMs) =>
      monitor === undefined ? 0 : Math.max(0, pending.queue("work").oldestMs + LONGEST_PATIENCE_MS - nowMs),
    isReady: (queue) => pending.queue(queue).ready > 0 && related.isComplete() && !invocations.isHeld(),
    resume: () => pending.requeueAll(clock.now()),
    stop() {
      invocations.stop();
      related.close();
    },
    abandon: invocations.abandonAll,
  };
}

/** The longest time that lasting states wait behind others' work. */
const LONGEST_PATIENCE_MS = 30_000;
