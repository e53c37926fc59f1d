import type { LimitInForce, LimitName } from "#kube/client/limit-name.ts";

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
