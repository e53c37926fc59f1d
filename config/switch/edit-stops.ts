import { removeStop, type StopEntry, StopSwitchError, withStop } from "#config/switch/stops.ts";
import type { StopChange } from "#config/switch/switch.ts";

/** Returns the new record for a change, given the current text; undefined if the record already says so. */
export async function editStops(
  change: StopChange,
  read: () => Promise<readonly StopEntry[]>,
): Promise<readonly StopEntry[] | undefined> {
  const before = await read().catch((error: unknown) => {
    // An unreadable record may stop more than the text that would replace it.
    if (
      change.kind === "stop" &&
      change.anew &&
      error instanceof StopSwitchError &&
      error.code === "Malformed"
    )
      return undefined;
    throw error;
  });
  if (before === undefined) return change.kind === "stop" ? [change.entry] : undefined;
  const after = change.kind === "stop" ? withStop(before, change.entry) : removeStop(before, change.name);
  return after === before ? undefined : after;
}
