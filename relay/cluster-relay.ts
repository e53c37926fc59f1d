import type { Cluster } from "#config/cluster.ts";
import type { Controller } from "#core/event.ts";
import type { Transport } from "#kube/client/transport.ts";
import type { Clock } from "#kube/follow/clock.ts";
import { type WatchNote, watchResource } from "#kube/follow/watch.ts";
import type { Budgets } from "#relay/delivery/budgets.ts";
import { deliver } from "#relay/delivery/deliver.ts";
import type { Invoker } from "#relay/delivery/invoker.ts";
import { createReader } from "#relay/feed/read-object.ts";
import { refreshForever } from "#relay/feed/refresh.ts";
import type { RelayNote } from "#relay/report/note.ts";
import { closesInMs, fillBatch, LINGER } from "#relay/work/batches.ts";
import { type Observed, observeNode } from "#relay/work/observed.ts";
import { createPending, type Lane, type PendingCounts, type ReadyObject } from "#relay/work/pending.ts";

/** What one cluster's relay is made of. */
export interface ClusterRelayOptions {
  readonly cluster: Cluster;
  readonly clusterHash: string;
  readonly transport: Transport;
  readonly invoker: Invoker;
  readonly budgets: Budgets;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly nextEventId: (cluster: Cluster) => string;
  readonly refreshSeconds: number;
  readonly note: (note: RelayNote) => void;
  /** Called after a delivery: others may be waiting for the account's room. */
  readonly onSettled: () => void;
}

/** How a cluster fares. */
export interface ClusterStatus extends PendingCounts {
  readonly name: string;
  /** A complete list is there and its watch is open, or being resumed without an error. */
  readonly ready: boolean;
  readonly invocations: number;
  /** Why it is not ready, where something failed. */
  readonly failure: { readonly code: string; readonly message: string } | undefined;
}

/** One cluster: its watch, what is pending, and what is in flight. */
export interface ClusterRelay {
  status(): ClusterStatus;
  /** Looks at what is due, soon. */
  wake(): void;
  /** Nothing new starts any more; resolves when nothing is in flight. */
  drain(): Promise<void>;
  /** Ends everything; what is in flight is given up. */
  close(): Promise<void>;
}

const NODES = "/api/v1/nodes";
const CONTROLLER: Controller = "cloud-node-controller";

/** Starts to follow one cluster. */
export function startClusterRelay(options: ClusterRelayOptions): ClusterRelay {
  const { cluster, clock, budgets, transport, random } = options;
  const pending = createPending(random);
  const following = new AbortController();
  const invoking = new AbortController();
  const drained: (() => void)[] = [];
  /** When the last batch of each lane closed. */
  const closedMs: Partial<Record<Lane, number>> = {};
  let invocations = 0;
  let wakes = false;
  let cancelTimer: () => void = () => {};
  let listed = false;
  let opened = false;
  let failure: ClusterStatus["failure"];

  const note = (value: NoteBody): void => options.note({ cluster: cluster.name, ...value });

  const reader = createReader({
    transport,
    path: NODES,
    signal: following.signal,
    onRead(name, result) {
      note({ kind: "read", name, failure: result.kind === "failed" ? result : undefined });
      if (result.kind !== "object" || !pending.has(result.key.uid)) return;
      observe(observeNode(result.object), result.key);
    },
  });

  function observe(observed: Observed, key: { name: string; uid: string; resourceVersion: string }): void {
    if (observed.kind === "malformed") {
      pending.deleted(key.uid);
      note({ kind: "malformed", name: key.name, uid: key.uid, faults: observed.faults });
      return;
    }
    const restored = pending.applied(observed, key, clock.now());
    if (restored !== undefined) note({ kind: "taint-restored", ...restored });
    wake();
  }

  function noteWatch(watch: WatchNote): void {
    if (watch.kind === "listed") listed = true;
    if (watch.kind === "opened") {
      opened = true;
      failure = undefined;
    }
    if (watch.kind === "failed") {
      opened = false;
      failure = { code: watch.code, message: watch.message };
    }
    note({ kind: "watch", note: watch });
  }

  /** Many lines of a watch arrive in one piece: they are looked at together. */
  function wake(): void {
    if (wakes || following.signal.aborted) return;
    wakes = true;
    queueMicrotask(() => {
      wakes = false;
      pump();
    });
  }

  function pump(): void {
    if (following.signal.aborted) return;
    cancelTimer();
    reader.add(pending.advance(clock.now()));
    const waits = [pump1("work"), pump1("look"), untilNextMs()].filter((wait) => wait !== undefined);
    if (waits.length > 0) cancelTimer = clock.after(Math.max(0, Math.min(...waits)), pump);
  }

  function untilNextMs(): number | undefined {
    const nextMs = pending.nextMs();
    return nextMs === undefined ? undefined : nextMs - clock.now();
  }

  /** Sends whatever closes now; answers with how long the next batch lingers. */
  function pump1(lane: Lane): number | undefined {
    for (;;) {
      const nowMs = clock.now();
      const state = {
        ...pending.lane(lane),
        closedMs: closedMs[lane],
        spacingMs: budgets.spacingMs(cluster),
        freeSlots: freeSlots(lane),
        nowMs,
      };
      const wait = closesInMs(state, LINGER[lane]);
      if (wait !== 0) return wait;
      closedMs[lane] = nowMs;
      const { objects, tooLarge } = fillBatch(pending.ready(lane));
      for (const object of tooLarge) giveUp(object);
      if (objects.length > 0) void send(lane, objects);
      else if (tooLarge.length === 0) return undefined;
    }
  }

  /** Looks leave one slot for work that may come, where there is more than one. */
  function freeSlots(lane: Lane): number {
    if (!budgets.mayBegin(cluster, invocations)) return 0;
    const free = cluster.limits.invocations - invocations;
    if (lane === "work") return free;
    return pending.lane("work").ready > 0 ? 0 : free - (cluster.limits.invocations > 1 ? 1 : 0);
  }

  function giveUp({ uid, name }: ReadyObject): void {
    pending.start(uid, clock.now());
    pending.settle(uid, { kind: "unsendable" }, clock.now());
    note({ kind: "too-large", name, uid });
  }

  /** Asked after a batch has taken its slot; a cluster with one slot has nothing but the queue to tell by. */
  function isBusy(): boolean {
    const { invocations: limit } = cluster.limits;
    return pending.lane("work").ready > 0 || (limit > 1 && invocations >= limit);
  }

  async function send(lane: Lane, objects: readonly ReadyObject[]): Promise<void> {
    const startedMs = clock.now();
    for (const { uid } of objects) pending.start(uid, startedMs);
    invocations += 1;
    const grant = budgets.begin(cluster, startedMs);
    const reason = lane === "look" ? "refresh" : objects.every(({ again }) => again) ? "retry" : "watch";
    const facts = {
      id: options.nextEventId(cluster),
      cluster,
      clusterHash: options.clusterHash,
      controller: CONTROLLER,
      reason,
      share: grant.share,
      busy: isBusy(),
    } as const;
    const delivery = await deliver(options.invoker, facts, objects, invoking.signal);
    const endedMs = clock.now();
    const { invocation } = delivery;
    grant.end(invocation.kind === "report" ? invocation.report.usage.cloud : undefined, endedMs);
    invocations -= 1;
    for (const [index, settlement] of delivery.settlements.entries()) {
      const uid = objects[index]?.uid;
      if (uid !== undefined) pending.settle(uid, settlement, endedMs);
    }
    note({ kind: "delivered", delivery, startedMs, endedMs });
    if (invocations === 0) for (const done of drained.splice(0)) done();
    wake();
    options.onSettled();
  }

  const loops = [
    watchResource<Observed>({
      transport,
      path: NODES,
      project: observeNode,
      clock,
      random,
      signal: following.signal,
      handler: {
        applied: observe,
        deleted: ({ uid }) => pending.deleted(uid),
        restarted: () => pending.restarted(),
        note: noteWatch,
      },
    }),
    refreshForever({
      transport,
      path: NODES,
      clock,
      random,
      everySeconds: options.refreshSeconds,
      signal: following.signal,
      outstanding: () => pending.lane("look").ready,
      look(object, key) {
        const observed = pending.has(key.uid) ? observeNode(object) : undefined;
        if (observed?.kind !== "object" || observed.needsWork) return;
        pending.look(key, observed.snapshot, clock.now(), 0);
        wake();
      },
      note,
    }),
  ];

  function stopFollowing(): void {
    following.abort();
    cancelTimer();
  }

  return {
    wake,
    status: () => ({
      name: cluster.name,
      ready: listed && opened && !following.signal.aborted,
      invocations,
      failure,
      ...pending.counts(),
    }),
    async drain() {
      stopFollowing();
      if (invocations > 0) await new Promise<void>((resolve) => drained.push(resolve));
    },
    async close() {
      stopFollowing();
      invoking.abort();
      await Promise.all(loops);
    },
  };
}

/** A note without the cluster, of whichever kind. */
type NoteBody = RelayNote extends infer Each
  ? Each extends RelayNote
    ? Omit<Each, "cluster">
    : never
  : never;
