import { StopSwitchError } from "#config/switch/error.ts";
import { type StopEntry, withoutStop, withStop } from "#config/switch/stops.ts";
import type { StopChange } from "#config/switch/switch.ts";

/** What stands there after a change, by what is read now; undefined where that says so already. */
export async function editedStops(
  change: StopChange,
  read: () => Promise<readonly StopEntry[]>,
): Promise<readonly StopEntry[] | undefined> {
  const before = await read().catch((error: unknown) => {
    // What cannot be read at all may say more than what would be written in its place.
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
  const after = change.kind === "stop" ? withStop(before, change.entry) : withoutStop(before, change.name);
  return after === before ? undefined : after;
}
