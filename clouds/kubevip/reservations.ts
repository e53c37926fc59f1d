/** Addresses that were chosen for Services in this process, and are not seen on them yet. */
export interface Reservations {
  /** Of others than this Service, those that hold by now. */
  others(uid: string): readonly Reserved[];
  reserve(reserved: Reserved): void;
  /** Seen on the Service by now, or given up. */
  drop(uid: string): void;
}

/** As a Service that has them would be listed. */
export interface Reserved {
  readonly uid: string;
  readonly namespace: string;
  readonly ports: readonly number[];
  readonly addresses: readonly string[];
}

/** Whatever is to come of a choice has come by then: an invocation has 30 seconds. */
const HELD_MS = 60_000;

/** More Services than any batch has. */
const MAX_RESERVED = 5_000;

/** None at first. Those of other processes nobody knows of here: what two choose is found out when both are written. */
export function createReservations(now: () => number): Reservations {
  const held = new Map<string, Reserved & { readonly untilMs: number }>();
  return {
    others(uid) {
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
