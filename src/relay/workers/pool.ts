import type { Cluster } from "#config/cluster.ts";
import type { Stops } from "#config/switch/follow-stops.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";
import { systemClock } from "#kube/follow/clock.ts";
import type { ClusterState, NotFollowedReason } from "#relay/cluster-state.ts";
import { createAssignment } from "#relay/workers/assignment.ts";
import {
  clearWorker,
  createDesiredCluster,
  type DesiredCluster,
  getDesiredClusterStatus,
} from "#relay/workers/desired-cluster.ts";
import { type Member, type MemberHandler, type MemberOptions, startMember } from "#relay/workers/member.ts";
import type { Metrics } from "#relay/workers/messages.ts";
import type { DeathReason } from "#relay/workers/running-worker.ts";

export interface PoolOptions extends Omit<MemberOptions, "clock"> {
  /** Returns the number of workers for this many clusters while all is well. */
  readonly workersFor: (clusters: number) => number;
  readonly onDeath?: (reason: DeathReason) => void;
  /** What operators have stopped, which is sent to workers; undefined means nothing. */
  readonly stops?: Pick<Stops, "read" | "onChange"> | undefined;
  readonly clock?: MemberOptions["clock"];
  /** Uniform in [0, 1). */
  readonly random?: () => number;
  /** Milliseconds between two pings of every worker. */
  readonly pingIntervalMs?: number;
}

/** A pool of workers in which clusters run. */
export interface Pool {
  /**
   * Sets the desired state of a cluster; undefined removes it. Resolves when that is reached or replaced. The
   * start of a `known` cluster is not logged.
   */
  setDesiredState(name: string, cluster: Cluster | undefined, known?: boolean): Promise<void>;
  /** Sets what is wrong with a cluster's entry; its earlier desired state stays. */
  setEntryFault(name: string, fault: NotFollowedReason): void;
  /** Returns whether one cluster is ready, or all without a name. */
  ready(name?: string): boolean;
  status(): readonly ClusterState[];
  /** Returns the number of running threads. */
  workers(): number;
  isQuarantined(name: string): boolean;
  /** Tells all workers the controllers whose functions currently fail on the platform. */
  tellHealth(): void;
  /** Resolves to each worker's metrics; to the last known ones if it does not answer in time. */
  metrics(): Promise<readonly Metrics[]>;
  /** Starts nothing new. Resolves to whether everything in flight had finished when the signal fired. */
  drain(signal: AbortSignal): Promise<boolean>;
  /** Ends all workers. */
  close(): Promise<void>;
}

const PING_INTERVAL_MS = 1_000;

/** Creates a pool without clusters and workers. */
export function createPool(options: PoolOptions): Pool {
  const {
    log,
    stops,
    clock = systemClock,
    random = Math.random,
    pingIntervalMs = PING_INTERVAL_MS,
  } = options;
  const assignment = createAssignment({ workersFor: options.workersFor, random });
  const desiredClusters = new Map<string, DesiredCluster>();
  /** The clusters that the log reports as quarantined. */
  const confined = new Set<string>();
  const members = new Map<number, Member>();
  let lastGeneration = 0;
  let isSoon = false;
  let isStopping = false;
  let onDrained = (): void => {};
  const timer = setInterval(checkAll, pingIntervalMs);
  const stopListening = stops?.onChange(() => {
    for (const member of members.values()) member.tellStops(stops.read());
  });

  function checkAll(): void {
    for (const member of members.values()) member.checkLiveness();
    if (isStopping) return;
    assignment.advance(clock.now());
    for (const name of confined) if (!isQuarantined(name)) freed(name);
    reconcile();
  }

  /** Schedules one pass for the many clusters that change at a time. */
  function soon(): void {
    if (isSoon || isStopping) return;
    isSoon = true;
    queueMicrotask(() => {
      isSoon = false;
      reconcile();
    });
  }

  /** Adjusts the workers to the plan, and the clusters to the workers. */
  function reconcile(): void {
    if (isStopping) return;
    const nowMs = clock.now();
    const homes = new Map<string, number>();
    const planned = new Set<number>();
    for (const { id, clusters, startMs } of assignment.workers()) {
      planned.add(id);
      for (const name of clusters) homes.set(name, id);
      if (!members.has(id) && startMs <= nowMs) start(id);
    }
    const inUse = new Set<number>();
    for (const desired of desiredClusters.values()) {
      moveOn(desired, homes.get(desired.name));
      if (desired.worker !== undefined) inUse.add(desired.worker);
    }
    for (const member of members.values())
      if (!planned.has(member.id) && !inUse.has(member.id)) leave(member);
  }

  function moveOn(desired: DesiredCluster, registry: number | undefined): void {
    if (desired.isLeaving) return;
    if (desired.worker === undefined) {
      if (desired.cluster === undefined) settle(desired);
      else if (registry !== undefined && members.has(registry)) {
        desired.worker = registry;
        tell(desired, desired.cluster);
      }
    } else if (desired.worker !== registry && desired.cluster !== undefined) {
      desired.isLeaving = true;
      lastGeneration += 1;
      desired.generation = lastGeneration;
      tell(desired, undefined);
    } else if (desired.sentGeneration !== desired.generation) tell(desired, desired.cluster);
  }

  function tell(desired: DesiredCluster, cluster: Cluster | undefined): void {
    if (desired.worker === undefined) return;
    desired.sentGeneration = desired.generation;
    members.get(desired.worker)?.setDesiredState(desired.name, desired.generation, cluster, desired.isKnown);
  }

  /** Reports that a cluster's desired state is reached. */
  function settle(desired: DesiredCluster): void {
    if (desired.cluster === undefined) {
      assignment.remove(desired.name);
      desired.isKnown = false;
      if (desired.entryFault === undefined) desiredClusters.delete(desired.name);
    } else desired.isKnown = true;
    desired.settled();
  }

  function start(id: number): void {
    try {
      const member = startMember(id, { ...options, clock }, handler);
      // Sent before any cluster, so that a stop holds from the first event on.
      if (stops !== undefined) member.tellStops(stops.read());
      members.set(id, member);
    } catch (error) {
      log({
        level: "error",
        event: "WorkerDied",
        worker: id,
        reason: "start",
        message: getErrorMessage(error),
      });
      options.onDeath?.("start");
      assignment.failedToStart(id, clock.now());
    }
  }

  /** Records that a member holds no clusters any more. */
  function leave(member: Member): void {
    members.delete(member.id);
    void member.end();
  }

  const handler: MemberHandler = {
    onDrained: () => onDrained(),
    onSettled({ id }, { name, generation }) {
      const desired = desiredClusters.get(name);
      if (desired?.worker !== id || desired.sentGeneration !== generation) return;
      if (desired.isLeaving || desired.cluster === undefined) {
        clearWorker(desired);
        soon();
      } else if (desired.generation === generation) settle(desired);
    },
    onStatus({ id }, { changed, gone }) {
      const setStatus = (name: string, status: ClusterState | undefined): void => {
        const desired = desiredClusters.get(name);
        if (desired?.worker === id) desired.status = status;
      };
      for (const status of changed) setStatus(status.name, status);
      for (const name of gone) setStatus(name, undefined);
    },
    onDeath({ id }, { reason, message }, culprit) {
      members.delete(id);
      const lost = [...desiredClusters.values()].filter(({ worker }) => worker === id);
      for (const desired of lost) {
        desired.isKnown = true;
        clearWorker(desired);
      }
      const clusters = lost.length;
      log({ level: "error", event: "WorkerDied", worker: id, reason, message, clusters, cluster: culprit });
      options.onDeath?.(reason);
      if (reason === "start") assignment.failedToStart(id, clock.now());
      else assignment.died(id, culprit, clock.now());
      for (const { name } of lost) confine(name);
      reconcile();
      onDrained();
    },
  };

  function confine(name: string): void {
    const quarantine = assignment.quarantineOf(name);
    if (quarantine === undefined) return;
    confined.add(name);
    const { deaths } = quarantine;
    const retryInMs = quarantine.isRunning ? 0 : Math.max(0, Math.round(quarantine.nextMs - clock.now()));
    log({ level: "error", event: "Quarantined", cluster: name, deaths, retryInMs });
  }

  function freed(name: string): void {
    confined.delete(name);
    if (desiredClusters.has(name)) log({ level: "info", event: "QuarantineEnded", cluster: name });
  }

  const isQuarantined = (name: string): boolean => assignment.quarantineOf(name) !== undefined;

  const status = (): readonly ClusterState[] =>
    [...desiredClusters.values()]
      .map((desired) => getDesiredClusterStatus(desired, assignment.quarantineOf(desired.name), clock.now()))
      .filter((each) => each !== undefined);

  function entryOf(name: string): DesiredCluster {
    const desired = desiredClusters.get(name) ?? createDesiredCluster(name);
    desiredClusters.set(name, desired);
    return desired;
  }

  return {
    status,
    isQuarantined,
    workers: () => members.size,
    tellHealth() {
      for (const member of members.values()) member.tellHealth();
    },
    ready(name) {
      const asked = status().filter((each) => name === undefined || each.name === name);
      return asked.length > 0 && asked.every((each) => each.ready);
    },
    setDesiredState(name, cluster, known = false) {
      const desired = entryOf(name);
      desired.settled();
      lastGeneration += 1;
      desired.generation = lastGeneration;
      desired.cluster = cluster;
      desired.entryFault = undefined;
      desired.isKnown ||= known;
      if (cluster !== undefined) assignment.add(name, clock.now());
      const settled = new Promise<void>((resolve) => {
        desired.settled = resolve;
      });
      if (isStopping) desired.settled();
      soon();
      return settled;
    },
    setEntryFault(name, fault) {
      entryOf(name).entryFault = fault;
    },
    async metrics() {
      return Promise.all([...members.values()].map((member) => member.metrics()));
    },
    async drain(signal) {
      isStopping = true;
      for (const desired of desiredClusters.values()) desired.settled();
      // A worker that has not started has nothing in flight.
      for (const member of members.values()) if (!member.isReady()) leave(member);
      const all = [...members.values()];
      for (const member of all) member.drain();
      const isLost = (member: Member): boolean => !member.isDrained() && members.get(member.id) !== member;
      await new Promise<void>((resolve) => {
        onDrained = () => {
          if (signal.aborted || all.every((member) => member.isDrained() || isLost(member))) resolve();
        };
        signal.addEventListener("abort", onDrained, { once: true });
        onDrained();
      });
      return !signal.aborted && !all.some(isLost);
    },
    async close() {
      isStopping = true;
      for (const desired of desiredClusters.values()) desired.settled();
      clearInterval(timer);
      stopListening?.();
      const all = [...members.values()];
      members.clear();
      await Promise.all(all.map((member) => member.end()));
    },
  };
}
