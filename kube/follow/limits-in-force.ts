import type { LimitInForce, LimitName } from "#kube/client/limit-name.ts";

/** The limits that a watch has met and that are in force. */
export interface LimitsInForce {
  /** A request met it: said each time. */
  meet(limit: LimitName, message: string): void;
  /** It is in force from now on: said once. */
  enter(limit: LimitName, message: string): void;
  /** None of these is any more: said where one was. */
  lift(...limits: readonly LimitName[]): void;
  isInForce(limit: LimitName): boolean;
}

/** Who is told. */
export type LimitNote =
  /** A limit is in force from now on, or was met again. */
  | ({ readonly kind: "limited" } & LimitInForce)
  /** These are in force no longer. */
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

/** What a complete list shows to be well again. */
export const LIST_LIMITS: readonly LimitName[] = [
  "pageItems",
  "pageBytes",
  "pageValues",
  "answerPieces",
  "listBytes",
  "listPages",
  "listSeconds",
];

/** What a watch that was open for a while shows to be well again. */
export const WATCH_LIMITS: readonly LimitName[] = [
  "watchLineBytes",
  "watchLineValues",
  "watchPieces",
  "malformedObjects",
];
