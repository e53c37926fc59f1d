import type { ApiObject, DelayHistogram } from "#core/watch.ts";

/** A delay that has ended. */
export interface MeasuredDelay {
  readonly kind: "delay";
  /** The full name of the metric. */
  readonly metric: string;
  readonly seconds: number;
}

/** An object as the watch or a list shows it. */
export interface DelaySubject {
  readonly snapshot: ApiObject;
  /** Whether the relay knew it before. */
  readonly isKnown: boolean;
  /** Whether an open watch reported it, so that it has just changed; a list may report an older change. */
  readonly isLive: boolean;
}

/** The delays of one controller's objects in one cluster, measured from what the relay itself saw. */
export interface Delays {
  /**
   * Takes an object that was shown. `nowMs` is monotonic; `wallTime` is compared with the object's creation
   * timestamp.
   */
  shown(object: DelaySubject, nowMs: number, wallTime: Date): readonly MeasuredDelay[];
  /** Records that our invocation changed the object that was sent in this state. */
  changed(sent: ApiObject, startedMs: number, nowMs: number): readonly MeasuredDelay[];
  forget(uid: string): void;
}

/**
 * The longest wait that is counted for an object from a list: a relay that was away still counts what objects
 * waited. An API server that reports 1970 cannot spoil the histogram.
 */
export const LONGEST_UNSEEN_MS = 300_000;

/** Creates the delays. Only a few numbers are held for each waiting object. */
export function createDelays(delays: readonly DelayHistogram[]): Delays {
  const each = delays.map(createDelay);
  return {
    shown: (object, nowMs, wallTime) => each.flatMap((delay) => delay.shown(object, nowMs, wallTime)),
    changed: (sent, startedMs, nowMs) => each.flatMap((delay) => delay.changed(sent, startedMs, nowMs)),
    forget(uid) {
      for (const delay of each) delay.forget(uid);
    },
  };
}

/**
 * One period in which an object waits. It ends when the object is shown without waiting and the change is
 * known to be ours.
 */
interface Episode {
  readonly isFirst: boolean;
  readonly fromMs: number;
  readonly goneMs?: number;
  readonly changedMs?: number;
}

function createDelay({ metric, isWaiting, counts, until }: DelayHistogram): Delays {
  const episodes = new Map<string, Episode>();

  function begun({ snapshot, isKnown, isLive }: DelaySubject, nowMs: number, wallTime: Date): Episode {
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
      if (!isWaiting(object.snapshot))
        return episode === undefined ? [] : take(uid, { ...episode, goneMs: episode.goneMs ?? nowMs });
      // An object that was waiting all along begins nothing new.
      if (episode === undefined || episode.goneMs !== undefined) take(uid, begun(object, nowMs, wallTime));
      return [];
    },
    changed(sent, startedMs, nowMs) {
      const { uid } = sent.metadata;
      const episode = episodes.get(uid);
      // An invocation from before this period ended an earlier one.
      if (episode === undefined || episode.fromMs > startedMs || !isWaiting(sent)) return [];
      return take(uid, { ...episode, changedMs: nowMs });
    },
    forget: (uid) => void episodes.delete(uid),
  };
}
