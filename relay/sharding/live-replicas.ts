/** Judges which other replicas live, by when their renewals were seen on this one's clock: what is written in them is of another one's. */
export interface LiveReplicas {
  /** The Lease of a replica, with what its last renewal is known by, and its version. */
  saw(name: string, lease: { readonly renewal: string; readonly version: string }, nowMs: number): void;
  /** The replica's Lease is no more: it has left. */
  left(name: string): void;
  /** A renewal of one's own has come back the way that those of others come. */
  ownCameBack(nowMs: number): void;
  /** Those that live. */
  names(): readonly string[];
  /** A Lease that nobody needs any more, so long has its replica been silent; undefined where there is none. */
  longSilent(nowMs: number): { readonly name: string; readonly version: string } | undefined;
}

/** A replica whose renewals were not seen for so long is gone … */
export const LEASE_MS = 5_000;
/** … provided that as many of one's own have come back since: where nobody can renew, nobody is to be blamed for it. */
const OWN_RENEWALS = 4;
/** A Lease that was left behind is told from one whose replica may come back. */
export const LONG_SILENT_MS = 600_000;

/** Knows nobody yet. */
export function createLiveReplicas(): LiveReplicas {
  const others = new Map<string, Other>();
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

interface Other {
  readonly renewal: string;
  readonly seenMs: number;
  version: string;
  /** Renewals of one's own since then. */
  ownSince: number;
  isLive: boolean;
}
