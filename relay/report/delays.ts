import type { ApiObject, Delay } from "#core/controller.ts";

/** A delay that is over. */
export interface MeasuredDelay {
  readonly kind: "delay";
  /** The whole name of the metric. */
  readonly metric: string;
  readonly seconds: number;
}

/** An object as it is shown. */
export interface ShownObject {
  readonly snapshot: ApiObject;
  /** Whether it was known before. */
  readonly isKnown: boolean;
  /** By a watch that is open, so that what it tells has just happened; what a list tells may be older. */
  readonly isLive: boolean;
}

/** The delays of one controller's objects in one cluster, by what the relay itself saw of them. */
export interface Delays {
  /** `nowMs` is monotonic; the creation of an object is a timestamp, which `wallTime` is compared with. */
  shown(object: ShownObject, nowMs: number, wallTime: Date): readonly MeasuredDelay[];
  /** Our flight has changed the object, which was sent as this. */
  changed(sent: ApiObject, startedMs: number, nowMs: number): readonly MeasuredDelay[];
  forget(uid: string): void;
}

/**
 * An object that a list tells of was created at the time it says, but no longer ago than this: a relay that was away for so long
 * still counts what others waited, and an API server that says 1970 spoils no histogram.
 */
export const LONGEST_UNSEEN_MS = 300_000;

/** Nothing is measured yet; of each object that waits, a few numbers are held. */
export function createDelays(delays: readonly Delay[]): Delays {
  const each = delays.map(createDelay);
  return {
    shown: (object, nowMs, wallTime) => each.flatMap((delay) => delay.shown(object, nowMs, wallTime)),
    changed: (sent, startedMs, nowMs) => each.flatMap((delay) => delay.changed(sent, startedMs, nowMs)),
    forget(uid) {
      for (const delay of each) delay.forget(uid);
    },
  };
}

/** Once that an object waits; over when it is shown to wait no longer, and known that it was us. */
interface Episode {
  readonly isFirst: boolean;
  readonly fromMs: number;
  readonly goneMs?: number;
  readonly changedMs?: number;
}

function createDelay({ metric, waits, counts, until }: Delay): Delays {
  const episodes = new Map<string, Episode>();

  function begun({ snapshot, isKnown, isLive }: ShownObject, nowMs: number, wallTime: Date): Episode {
    if (isKnown) return { isFirst: false, fromMs: nowMs };
    const ageMs = wallTime.getTime() - Date.parse(snapshot.metadata.creationTimestamp);
    const isUsable = !isLive && ageMs > 0;
    return { isFirst: true, fromMs: isUsable ? nowMs - Math.min(ageMs, LONGEST_UNSEEN_MS) : nowMs };
  }

  function take(uid: string, episode: Episode): readonly MeasuredDelay[] {
    const { isFirst, fromMs, goneMs, changedMs } = episode;
    if (goneMs === undefined || changedMs === undefined) {
      episodes.set(uid, episode);
      return [];
    }
    episodes.delete(uid);
    if (counts === "first" && !isFirst) return [];
    const endMs = until === "shown" ? Math.min(goneMs, changedMs) : changedMs;
    return [{ kind: "delay", metric, seconds: Math.max(0, endMs - fromMs) / 1_000 }];
  }

  return {
    shown(object, nowMs, wallTime) {
      const { uid } = object.snapshot.metadata;
      const episode = episodes.get(uid);
      if (!waits(object.snapshot))
        return episode === undefined ? [] : take(uid, { ...episode, goneMs: episode.goneMs ?? nowMs });
      // Where it waited all along, nothing new begins.
      if (episode === undefined || episode.goneMs !== undefined) take(uid, begun(object, nowMs, wallTime));
      return [];
    },
    changed(sent, startedMs, nowMs) {
      const { uid } = sent.metadata;
      const episode = episodes.get(uid);
      // A flight from before the episode has ended another one.
      if (episode === undefined || episode.fromMs > startedMs || !waits(sent)) return [];
      return take(uid, { ...episode, changedMs: nowMs });
    },
    forget: (uid) => void episodes.delete(uid),
  };
}
