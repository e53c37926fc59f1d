import type { Reset } from "#cli/reset-brake.ts";
import { missing } from "#config/fleet-brake/fleet-brake.ts";
import type { RecordStore } from "#config/fleet-brake/record-store.ts";
import { resetFleetBrake } from "#core/node-lifecycle/fleet-brake.ts";
import {
  emptyFleetRecord,
  type FleetRecord,
  fleetRecordText,
  readFleetRecord,
} from "#core/node-lifecycle/fleet-record.ts";

/** Functions write it for twenty deletions at the most, and for none while the brake is pulled. */
const MAX_ATTEMPTS = 5;

/**
 * Lets the brake of the fleet go, and notes how many clusters there are, where that is known. A record that is missing is made, and one that was
 * edited into something else is replaced; one of another version is neither. Rejects where that was not done.
 */
export async function letGoOfFleetBrake(
  store: RecordStore,
  clusters: number | undefined,
  signal: AbortSignal,
): Promise<Reset> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const stored = await store.read(signal);
    const read = readFleetRecord(stored.kind === "absent" ? "" : stored.text);
    if (read.kind === "unusable" && read.isForeign)
      throw new Error(`the brake of the fleet was not reset: ${store.name} ${read.message}`);
    const record = read.kind === "record" ? read.record : emptyFleetRecord();
    const next = nextOf(record, new Date(), clusters);
    const isNew = stored.kind === "absent" || stored.text === "" || read.kind === "unusable";
    if (!isNew && next === record)
      return { reset: false, message: `the brake of the fleet is not pulled: nothing was changed` };
    const version = stored.kind === "absent" ? undefined : stored.version;
    if (!(await store.swap(fleetRecordText(next), version, signal))) continue;
    return { reset: true, message: messageOf(store.name, isNew, record, next) };
  }
  throw new Error(
    `the brake of the fleet was not reset: somebody else wrote ${store.name} ${MAX_ATTEMPTS} times meanwhile; try again`,
  );
}

function nextOf(record: FleetRecord, now: Date, clusters: number | undefined): FleetRecord {
  if (record.brake !== undefined) return resetFleetBrake(record, now, clusters);
  // What counts goes on to count where nobody has to look.
  return clusters === undefined || clusters === record.clusters ? record : { ...record, clusters };
}

function messageOf(name: string, isNew: boolean, { brake }: FleetRecord, { clusters }: FleetRecord): string {
  if (isNew) return `${name} is made: deletions of all clusters that share it count from now on`;
  if (brake !== undefined)
    return `the brake of the fleet, pulled ${brake.since}, is let go: deletions count from anew`;
  return `the brake of the fleet is not pulled; ${clusters} clusters are noted`;
}

/** The record as it is now; rejects where there is none, or none that can be used, and says what to do. */
export async function usableFleetRecord(store: RecordStore, signal: AbortSignal): Promise<FleetRecord> {
  const stored = await store.read(signal);
  if (stored.kind === "absent") throw new Error(`${missing(store.name)}; ${UNTIL_THEN}`);
  const read = readFleetRecord(stored.text);
  if (read.kind === "record") return read.record;
  throw new Error(`${store.name} ${read.message}; ${UNTIL_THEN}`);
}

const UNTIL_THEN = "until then nothing is deleted that the cloud does not show as terminated";
