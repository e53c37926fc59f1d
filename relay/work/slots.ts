/** The longest slot, in milliseconds; every other one is a half, a quarter, … of it. */
const LONGEST_SLOT_MS = 2 ** 17;

/** A wait is lengthened by at most so much of itself, twice over. */
const SLOTS_OF_A_WAIT = 8;

/**
 * When a wait that ends at `atMs` ends so that others end with it: at the end of a slot, which is between an eighth and a quarter
 * as long as the wait. Slots of all lengths end together, so that waits of different lengths meet. `offset`, in [0, 1), is the
 * cluster's own, and keeps clusters apart from each other.
 */
export function endOfSlot(atMs: number, waitMs: number, offset: number): number {
  const slotMs = Math.min(LONGEST_SLOT_MS, 2 ** Math.ceil(Math.log2(Math.max(1, waitMs / SLOTS_OF_A_WAIT))));
  const offsetMs = Math.floor(offset * LONGEST_SLOT_MS);
  return Math.ceil((atMs - offsetMs) / slotMs) * slotMs + offsetMs;
}
