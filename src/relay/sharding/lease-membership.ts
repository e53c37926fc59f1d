import { REPLICA_LABEL } from "#core/contracts.ts";
import { formatCreationPath, formatObjectPath, LEASES, withQuery } from "#core/resources/resource.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";
import type { Transport } from "#kube/client/transport.ts";
import { type Clock, pause } from "#kube/follow/clock.ts";
import type { ObjectKey } from "#kube/follow/object-key.ts";
import { watchResource } from "#kube/follow/watch.ts";
import {
  createReplicaLeaseClient,
  parseReplicaLease,
  REQUEST_TIMEOUT_MS,
  type ReplicaLease,
} from "#relay/sharding/member-lease.ts";
import type { Membership, MembershipNote } from "#relay/sharding/membership.ts";

export interface LeaseMembershipOptions {
  readonly self: string;
  /** Distinguishes this process from others that were given the same name; a few random characters. */
  readonly identity: string;
  /** The namespace of the Leases. */
  readonly namespace: string;
  /** Connects to the cluster that holds the Leases; retried if it rejects. */
  readonly connect: () => Promise<Transport>;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly note: (note: MembershipNote) => void;
}

/**
 * Each replica renews its Lease once in this time, as in a leader election: twenty replicas make 14 requests
 * a second.
 */
const RENEW_MS = 1_500;

/** A replica whose renewals have not come back for this long counts as gone for the others. */
export const CUT_OFF_MS = 10_000;

/**
 * Replicas that start together wait this long for each other, so that the first does not take all clusters
 * meanwhile.
 */
export const SETTLE_MS = 2_500;

/** The time limit for leaving. */
const LEAVE_TIMEOUT_MS = 3_000;

/**
 * Joins the replicas that have Leases in one namespace. Each replica renews its own Lease and watches all of
 * them.
 *
 * Liveness is judged only when a renewal of its own has come back by the watch. A replica that cannot reach
 * the API server therefore declares no other gone, and continues with those it last knew.
 */
export function joinByLease(options: LeaseMembershipOptions): Membership {
  const { self, namespace, clock, random, note } = options;
  const holder = `${self}_${options.identity}`;
  const live = createLiveReplicas();
  const listeners = new Set<() => void>();
  const stopping = new AbortController();
  const { signal } = stopping;
  let known: readonly string[] | undefined;
  let isListed = false;
  let ownRenewal = "";
  let cameBackMs: number | undefined;
  let firstCameBackMs: number | undefined;
  const startedMs = clock.now();
  let isCutOff = false;
  let failure: string | undefined;

  function look(): void {
    if (signal.aborted || !isListed || firstCameBackMs === undefined) return;
    if (known === undefined && clock.now() - firstCameBackMs < SETTLE_MS) return;
    const replicas = [self, ...live.names()].sort();
    if (known?.join() === replicas.join()) return;
    known = replicas;
    note({ kind: "changed", replicas });
    for (const listener of listeners) listener();
  }

  function saw(lease: ReplicaLease, { name, resourceVersion }: ObjectKey): void {
    const nowMs = clock.now();
    if (name !== self) live.saw(name, { renewal: lease.renewal, version: resourceVersion }, nowMs);
    else if (lease.holder === holder && lease.renewal !== ownRenewal) {
      ownRenewal = lease.renewal;
      cameBackMs = nowMs;
      firstCameBackMs ??= nowMs;
      if (isCutOff) note({ kind: "back" });
      isCutOff = false;
      live.ownCameBack(nowMs);
    }
    look();
  }

  function watch(transport: Transport, until: AbortSignal): Promise<void> {
    return watchResource<{ readonly lease: ReplicaLease | undefined }>({
      transport,
      path: withQuery(
        formatCreationPath(LEASES, namespace),
        `labelSelector=${encodeURIComponent(REPLICA_LABEL)}`,
      ),
      project: (object) => ({ lease: parseReplicaLease(object) }),
      handler: {
        applied({ lease }, key) {
          if (lease !== undefined) saw(lease, key);
        },
        deleted({ name }) {
          live.left(name);
          look();
        },
        restarted() {},
        note(each) {
          if (each.kind === "failed") failure = each.message;
          if (each.kind !== "listed") return;
          isListed = true;
          look();
        },
      },
      clock,
      random,
      signal: until,
    });
  }

  async function follow(transport: Transport): Promise<void> {
    const own = createReplicaLeaseClient({ transport, namespace, name: self, holder });
    let watching = new AbortController();
    let ended = watch(transport, watching.signal);
    let hasFailed = false;
    let taker = "";
    while (!signal.aborted) {
      const renewal = await own.renew(clock.wallTime(), signal);
      if (renewal.kind === "failed") failure = renewal.message;
      if (renewal.kind === "taken-back" && renewal.holder !== taker) {
        taker = renewal.holder;
        note({ kind: "name-taken", holder: taker });
      }
      // The watch may wait long after a failure although the server works again.
      if (hasFailed && renewal.kind !== "failed" && !signal.aborted) {
        watching.abort();
        await ended;
        watching = new AbortController();
        ended = watch(transport, watching.signal);
      }
      hasFailed = renewal.kind === "failed";
      await clearAway(transport);
      await wait();
    }
    watching.abort();
    await own.release(AbortSignal.timeout(LEAVE_TIMEOUT_MS));
    await ended;
  }

  /**
   * Killed replicas leave their Leases. The first live replica deletes them, unless they are renewed
   * meanwhile.
   */
  async function clearAway(transport: Transport): Promise<void> {
    const left = known?.[0] === self ? live.longSilent(clock.now()) : undefined;
    if (left === undefined || signal.aborted) return;
    const path = formatObjectPath(LEASES, { namespace, name: left.name });
    const body = { preconditions: { resourceVersion: left.version } };
    const request = { method: "DELETE", path, body, signal, timeoutMs: REQUEST_TIMEOUT_MS } as const;
    const answer = await transport.send(request).catch(() => undefined);
    // It is deleted, was gone before, or is renewed again, which the watch shows. Other failures are retried later.
    if (answer !== undefined && [200, 404, 409].includes(answer.status)) live.left(left.name);
  }

  async function wait(): Promise<void> {
    if (!isCutOff && clock.now() - (cameBackMs ?? startedMs) > CUT_OFF_MS) {
      isCutOff = true;
      const message = failure ?? "renewals of its Lease do not come back by the watch";
      note({ kind: "cut-off", message, wasHeard: cameBackMs !== undefined });
    }
    await pause(clock, RENEW_MS * (0.9 + 0.2 * random()), signal);
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      try {
        const transport = await options.connect();
        try {
          await follow(transport);
        } finally {
          await transport.close();
        }
      } catch (error) {
        failure = getErrorMessage(error);
        await wait();
      }
    }
  }
  const running = run();

  return {
    self,
    replicas: () => known,
    isCutOff: () => isCutOff,
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    leave() {
      stopping.abort();
      const timeout = AbortSignal.timeout(LEAVE_TIMEOUT_MS);
      return Promise.race([
        running,
        new Promise<void>((resolve) => timeout.addEventListener("abort", () => resolve())),
      ]);
    },
  };
}

/**
 * Judges which other replicas live, by when this replica's clock saw their renewals: times inside a Lease
 * come from another clock.
 */
interface LiveReplicas {
  /** Records a replica's Lease: what identifies its last renewal, and its version. */
  saw(name: string, lease: { readonly renewal: string; readonly version: string }, nowMs: number): void;
  /** Records that a replica deleted its Lease: it has left. */
  left(name: string): void;
  /** Records that a renewal of this replica has come back by the watch. */
  ownCameBack(nowMs: number): void;
  /** Returns the live replicas. */
  names(): readonly string[];
  /**
   * Returns the Lease of a replica that has been silent for long, so that it can be deleted; undefined if
   * there is no such Lease.
   */
  longSilent(nowMs: number): { readonly name: string; readonly version: string } | undefined;
}

/** A replica counts as gone if this replica has seen no renewal of it for this long (see `OWN_RENEWALS`, too). */
export const LEASE_MS = 5_000;

/**
 * The number of its own renewals that must succeed in that time before a replica declares another one gone. So no
 * replica is declared gone while none can renew.
 */
const OWN_RENEWALS = 4;

/** After this long a Lease counts as left behind; before that, its replica may come back. */
export const LONG_SILENT_MS = 600_000;

/** Creates the state before any replica was seen. */
export function createLiveReplicas(): LiveReplicas {
  const others = new Map<string, OtherReplica>();
  return {
    saw(name, { renewal, version }, nowMs) {
      const known = others.get(name);
      if (known?.renewal === renewal) known.version = version;
      else others.set(name, { renewal, version, seenMs: nowMs, ownSince: 0, isLive: true });
    },
    left: (name) => void others.delete(name),
    ownCameBack(nowMs) {
      for (const other of others.values()) {
        other.ownSince += 1;
        if (other.ownSince >= OWN_RENEWALS && nowMs - other.seenMs > LEASE_MS) other.isLive = false;
      }
    },
    names: () => [...others].filter(([, { isLive }]) => isLive).map(([name]) => name),
    longSilent(nowMs) {
      for (const [name, { isLive, seenMs, version }] of others)
        if (!isLive && nowMs - seenMs > LONG_SILENT_MS) return { name, version };
      return undefined;
    },
  };
}

interface OtherReplica {
  readonly renewal: string;
  readonly seenMs: number;
  version: string;
  /** Renewals of this replica since then. */
  ownSince: number;
  isLive: boolean;
}
