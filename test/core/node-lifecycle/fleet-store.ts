import { createFleetRecord, type FleetRecord, formatFleetRecord } from "#core/node-lifecycle/fleet-record.ts";
import type { FleetStore } from "#test/core/node-lifecycle/world.ts";

/** A fleet's record in memory; `write` simulates an operator. */
export function createFleetStore(record: FleetRecord = createFleetRecord()) {
  let text = formatFleetRecord(record);
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
