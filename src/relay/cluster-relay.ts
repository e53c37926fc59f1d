import { buildWatchContext, type Cluster, getQuotaKey } from "#config/cluster.ts";
import type { Stops } from "#config/switch/follow-stops.ts";
import { WATCHES } from "#core/controllers.ts";
import type { ControllerName } from "#core/event.ts";
import { formatFollowedPath, type ObjectName, type Resource } from "#core/resources/resource.ts";
import { describeStop, type Stop } from "#core/stop.ts";
import type { Watch } from "#core/watch.ts";
import type { LimitInForce } from "#kube/client/errors.ts";
import type { Transport } from "#kube/client/transport.ts";
import type { Clock } from "#kube/follow/clock.ts";
import { createWatchRateLimiter } from "#kube/follow/watch-rate-limiter.ts";
import type { Invoker } from "#platforms/invoker.ts";
import { type ControllerRelay, createControllerRelay } from "#relay/controller-relay.ts";
import type { InvocationLimiter } from "#relay/delivery/invocation-limiter.ts";
import type { RefreshAllowance } from "#relay/delivery/refresh-allowance.ts";
import { selectEnabledWatches } from "#relay/enabled-watches.ts";
import { type Informer, type InformerSubscriber, startInformer } from "#relay/informer/informer.ts";
import { decideHeartbeat, type Heartbeat, renewLease } from "#relay/lease/heartbeat.ts";
import { createAnswerLimit } from "#relay/report/answer-limit.ts";
import type { ClusterNote, RelayNote } from "#relay/report/relay-note.ts";
import type { WaitingCount } from "#relay/report/waiting.ts";
import { createScheduler, sumInvocations } from "#relay/scheduler.ts";
import type { PendingCounts } from "#relay/work/types.ts";

/** The dependencies and settings of one cluster's relay. */
export interface ClusterRelayOptions {
  readonly cluster: Cluster;
  readonly clusterHash: string;
  readonly transport: Transport;
  /** Shared by all clusters of the process. */
  readonly limiter: InvocationLimiter;
  /** Shared by all clusters of the process. */
  readonly refreshAllowance: RefreshAllowance;
  readonly invoker: Pick<Invoker, "invoke">;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly nextEventId: (cluster: Cluster) => string;
  readonly refreshSeconds: number;
  readonly note: (note: RelayNote) => void;
  /** The transport to the API server that holds the Lease; without it the relay renews none. */
  readonly lease?: Transport | undefined;
  /** What operators have stopped; undefined means nothing. */
  readonly stops?: Pick<Stops, "get" | "onChange"> | undefined;
  /** The controllers to run; defaults to those of this build. */
  readonly watches?: readonly Watch[] | undefined;
  /** Called before each object is processed. */
  readonly onObject?: (() => void) | undefined;
}

/** The state of a cluster: totals, and one entry for each controller. */
export interface ClusterStatus extends PendingCounts {
  readonly name: string;
  /** True when every list is complete and its watch is open or resuming without an error. */
  readonly ready: boolean;
  readonly invocations: number;
  /** Why the cluster is not ready; undefined when nothing failed. */
  readonly failure: { readonly code: string; readonly message: string } | undefined;
  /** The limits in force, each once. A later sweep or relist finds what they left out. */
  readonly limited: readonly LimitInForce[];
  /** What operators have stopped for this cluster, if anything. */
  readonly stop?: Stop | undefined;
  readonly controllers: readonly ControllerStatus[];
}

/** The state of a controller in a cluster. */
export interface ControllerStatus extends PendingCounts {
  readonly name: ControllerName;
  readonly invocations: number;
  /** Waiting objects by reason and age, if the controller counts them. */
  readonly waiting: readonly WaitingCount[];
  /** The number of unused cloud resources, if the controller looks for them and found some. */
  readonly orphans?: number | undefined;
}

/** One cluster: what the relay watches, what is pending for its controllers, and what is in flight. */
export interface ClusterRelay {
  status(): ClusterStatus;
  /** Returns whether objects wait only to be sent. */
  isBusy(): boolean;
  /** Schedules a pass over what is due. */
  wake(): void;
  /** Starts nothing new; resolves when nothing is in flight. */
  drain(): Promise<void>;
  /** Stops everything and abandons what is in flight. */
  close(): Promise<void>;
}

/** Starts to follow one cluster, for each configured controller that exists. */
export function startClusterRelay(options: ClusterRelayOptions): ClusterRelay {
  const { cluster, clock } = options;
  const following = new AbortController();
  const drained: (() => void)[] = [];
  let wakes = false;
  let stop = readStop();

  const quotaKey = getQuotaKey(cluster);
  const note = (value: ClusterNote): void => options.note({ cluster: cluster.name, ...value });
  const answers = createAnswerLimit(clock, note);
  const context = buildWatchContext(cluster);
  const controllers = selectEnabledWatches(cluster, options.watches ?? WATCHES, note).map((watch) =>
    createControllerRelay({
      ...options,
      watch,
      quotaKey,
      context,
      note(each) {
        note({ controller: watch.name, ...each });
        if (each.kind !== "delivered") return;
        const reported = answers.after(each.delivery, watch.resource.name);
        if (reported !== undefined) note(reported);
      },
      wake,
      readStop,
      onTurn: () => scheduler.run(),
      isFull: () => cluster.limits.invocations > 1 && invocations() >= cluster.limits.invocations,
    }),
  );
  const watchRateLimiter = createWatchRateLimiter(clock, cluster.limits.watchEventsPerSecond);
  const informers = new Map(
    groupSubscribers(controllers).map(([path, group]): [string, Informer] => [
      path,
      startInformer({
        ...options,
        ...group,
        bounds: cluster.limits,
        pace: watchRateLimiter,
        signal: following.signal,
        note: (each) => note({ resource: group.resource.name, ...each }),
      }),
    ]),
  );
  const required = [...informers.values()].filter(({ isOptional }) => !isOptional);

  const scheduler = createScheduler({
    controllers,
    clock,
    maxInvocations: cluster.limits.invocations,
    read: ({ watch }, objects) => informers.get(getWatchPath(watch))?.read(objects),
  });

  const renewing =
    options.lease === undefined || cluster.policies.dryRun
      ? undefined
      : renewLease({
          ...options,
          transport: options.lease,
          signal: following.signal,
          // While writes are stopped, the relay does not renew its Lease; the sweep writes nothing either.
          heartbeat: () =>
            readStop() === "writes" ? WRITES_STOPPED : decideHeartbeat(required, controllers, clock.now()),
          note,
        });

  const stopListening = options.stops?.onChange(() => {
    const before = stop;
    stop = readStop();
    if (before === undefined || before === stop) return;
    for (const controller of controllers) controller.resume();
    wake();
  });

  function readStop(): Stop | undefined {
    return options.stops?.get(cluster.name);
  }

  function invocations(): number {
    return sumInvocations(controllers);
  }

  /** A watch delivers many lines at once; one pass handles them together. */
  function wake(): void {
    if (wakes) return;
    wakes = true;
    queueMicrotask(() => {
      wakes = false;
      if (invocations() === 0) for (const done of drained.splice(0)) done();
      scheduler.run();
    });
  }

  function stopFollowing(): void {
    following.abort();
    stopListening?.();
    scheduler.stop();
    answers.close();
    for (const controller of controllers) controller.stop();
  }

  return {
    wake,
    isBusy: () => controllers.some((each) => each.counts().due.work > 0),
    status: () =>
      buildStatus(
        cluster.name,
        controllers,
        { required, all: [...informers.values()] },
        readStop(),
        answers.limited(),
      ),
    async drain() {
      stopFollowing();
      if (invocations() > 0) await new Promise<void>((resolve) => drained.push(resolve));
    },
    async close() {
      stopFollowing();
      for (const controller of controllers) controller.abandon();
      await Promise.all([...[...informers.values()].map(({ ended }) => ended), renewing]);
    },
  };
}

const WRITES_STOPPED: Heartbeat = { kind: "doubts", because: describeStop("writes") };
const NOTHING_TO_DO = { code: "NoController", message: "none of the cluster's controllers is known here" };

function buildStatus(
  name: string,
  controllers: readonly ControllerRelay[],
  { required, all }: { readonly required: readonly Informer[]; readonly all: readonly Informer[] },
  stop: Stop | undefined,
  limitedAnswers: readonly LimitInForce[],
): ClusterStatus {
  const statuses = controllers.map(buildControllerStatus);
  return {
    name,
    ready: required.length > 0 && required.every((informer) => informer.isReady()),
    invocations: sumInvocations(controllers),
    failure:
      required.length === 0
        ? NOTHING_TO_DO
        : required.map((informer) => informer.failure()).find((failure) => failure !== undefined),
    ...(stop === undefined ? {} : { stop }),
    limited: dropDuplicates([...all.flatMap((informer) => informer.limited()), ...limitedAnswers]),
    ...sumPending(statuses),
    controllers: statuses,
  };
}

function buildControllerStatus(controller: ControllerRelay): ControllerStatus {
  const { name } = controller.watch;
  const counts = { invocations: controller.invocations(), waiting: controller.waiting() };
  return { name, ...counts, orphans: controller.orphans(), ...controller.counts() };
}

function dropDuplicates(limited: readonly LimitInForce[]): readonly LimitInForce[] {
  return limited.filter(({ limit }, index) => limited.findIndex((each) => each.limit === limit) === index);
}

interface SubscriberGroup {
  readonly resource: Resource;
  readonly only: ObjectName | undefined;
  /** Whether no subscriber needs the resource. */
  isOptional: boolean;
  readonly subscribers: InformerSubscriber[];
}

function getWatchPath({ resource, only }: Pick<Watch, "resource" | "only">): string {
  return formatFollowedPath(resource, only);
}

/**
 * Returns one entry for each resource that a controller works on or relates to, and for each single followed
 * object.
 */
function groupSubscribers(
  controllers: readonly ControllerRelay[],
): readonly (readonly [path: string, subscribed: SubscriberGroup])[] {
  const subscribed = new Map<string, SubscriberGroup>();
  for (const { resource, only, isOptional = false, subscriber } of controllers.flatMap(
    ({ subscriptions }) => subscriptions,
  )) {
    const path = formatFollowedPath(resource, only);
    const entry = subscribed.get(path) ?? { resource, only, isOptional, subscribers: [] };
    entry.isOptional &&= isOptional;
    entry.subscribers.push(subscriber);
    subscribed.set(path, entry);
  }
  return [...subscribed];
}

function sumPending(each: readonly PendingCounts[]): PendingCounts {
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
