/** Addresses chosen for Services in this process that are not visible on them yet. */
export interface Reservations {
  /** Lists the valid reservations of all other Services. */
  listOthers(uid: string): readonly Reservation[];
  reserve(reserved: Reservation): void;
  /** Drops a reservation that is visible on the Service or no longer needed. */
  drop(uid: string): void;
}

/** In the form of a Service that has the addresses. */
export interface Reservation {
  readonly uid: string;
  readonly namespace: string;
  readonly ports: readonly number[];
  readonly addresses: readonly string[];
}

/** Any result of a choice has arrived by then: an invocation has 30 seconds. */
const HELD_MS = 60_000;

/** More Services than any batch has. */
const MAX_RESERVED = 5_000;

/**
 * Creates empty reservations. Other processes' choices are unknown here; a conflict is found when both are
 * written.
 */
export function createReservations(now: () => number): Reservations {
  const held = new Map<string, Reservation & { readonly untilMs: number }>();
  return {
    listOthers(uid) {
      const nowMs = now();
      for (const [key, { untilMs }] of held) if (untilMs <= nowMs) held.delete(key);
      return [...held.values()].filter((each) => each.uid !== uid);
    },
    reserve(reserved) {
      held.delete(reserved.uid);
      held.set(reserved.uid, { ...reserved, untilMs: now() + HELD_MS });
      const [oldest] = held.keys();
      if (held.size > MAX_RESERVED && oldest !== undefined) held.delete(oldest);
    },
    drop: (uid) => void held.delete(uid),
  };
}
