import { emptyFleetRecord, type FleetRecord, fleetRecordText } from "#core/node-lifecycle/fleet-record.ts";
import type { FleetStore } from "#test/core/node-lifecycle/world.ts";

/** A record of a fleet that lives in a test; `write` is what an operator does. */
export function fleetStore(record: FleetRecord = emptyFleetRecord()) {
  let text = fleetRecordText(record);
  let version = 1;
  return {
    current: () => ({ text, version }),
    swap(next: string, read: number) {
      if (read !== version) return false;
      text = next;
      version += 1;
      return true;
    },
    write(next: string) {
      text = next;
      version += 1;
    },
    record: (): FleetRecord => JSON.parse(text),
  } satisfies FleetStore & Record<string, unknown>;
}
