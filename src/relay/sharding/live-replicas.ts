/**
 * Judges which other replicas live, by when this replica's clock saw their renewals: times inside a Lease
 * come from another clock.
 */
export interface LiveReplicas {
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

/** A replica whose renewals were not seen for this long is gone … */
export const LEASE_MS = 5_000;
/**
 * … provided that this many renewals of this replica have come back since. If no replica can renew, none is
 * declared gone.
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
