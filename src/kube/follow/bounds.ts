import type { LimitInForce, LimitName } from "#kube/client/errors.ts";

/** The limits of a list or watch of one resource; a request that exceeds them is ended. */
export interface FollowBounds {
  /** Objects of the resource that the relay follows. */
  readonly objects: number;
  /** Bytes kept of these objects, as JSON. */
  readonly objectBytes: number;
  readonly pageBytes: number;
  /** JSON values of a page, counted by opening and separating characters. */
  readonly pageValues: number;
  readonly listBytes: number;
  readonly listPages: number;
  readonly listSeconds: number;
  readonly watchLineBytes: number;
  /**
   * Sustained rate of a cluster's watch events. A burst of ten seconds' worth, and of eight for each object,
   * is allowed.
   */
  readonly watchEventsPerSecond: number;
  /** Malformed objects of one list or watch request before it is ended. */
  readonly malformedObjects: number;
}

/** Several times the needs of 10,000 nodes of 15 KB. */
export const DEFAULT_BOUNDS: FollowBounds = {
  objects: 10_000,
  objectBytes: 32 * 1024 * 1024,
  pageBytes: 8 * 1024 * 1024,
  pageValues: 500_000,
  listBytes: 512 * 1024 * 1024,
  listPages: 1_000,
  listSeconds: 600,
  watchLineBytes: 4 * 1024 * 1024,
  watchEventsPerSecond: 500,
  malformedObjects: 100,
};

/** The limits of a watch that are in force. */
export interface LimitsInForce {
  /** Reports each time that a request reaches a limit. */
  meet(limit: LimitName, message: string): void;
  /** Reports once that a limit is in force. */
  enter(limit: LimitName, message: string): void;
  /** Reports once that these limits are no longer in force. */
  lift(...limits: readonly LimitName[]): void;
  isInForce(limit: LimitName): boolean;
}

/** Receives the changes of limits. */
export type LimitNote =
  /** A limit came into force, or was reached again. */
  | ({ readonly kind: "limited" } & LimitInForce)
  /** These limits are no longer in force. */
  | { readonly kind: "within-limits"; readonly limits: readonly LimitName[] };

export function createLimitsInForce(note: (note: LimitNote) => void): LimitsInForce {
  const inForce = new Set<LimitName>();
  const meet = (limit: LimitName, message: string): void => {
    inForce.add(limit);
    note({ kind: "limited", limit, message });
  };
  return {
    meet,
    enter(limit, message) {
      if (!inForce.has(limit)) meet(limit, message);
    },
    lift(...limits) {
      const lifted = limits.filter((limit) => inForce.delete(limit));
      if (lifted.length > 0) note({ kind: "within-limits", limits: lifted });
    },
    isInForce: (limit) => inForce.has(limit),
  };
}

/** Limits that a complete list clears. */
export const LIST_LIMITS: readonly LimitName[] = [
  "pageItems",
  "pageBytes",
  "pageValues",
  "answerPieces",
  "listBytes",
  "listPages",
  "listSeconds",
];

/** Limits that a watch clears after being open for a while. */
export const WATCH_LIMITS: readonly LimitName[] = [
  "watchLineBytes",
  "watchLineValues",
  "watchPieces",
  "malformedObjects",
];
