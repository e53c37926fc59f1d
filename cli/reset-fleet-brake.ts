import type { ResetResult } from "#cli/reset-brake.ts";
import { describeMissingRecord } from "#config/fleet-brake/fleet-brake.ts";
import type { RecordStore } from "#config/fleet-brake/record-store.ts";
import { resetFleetBrake } from "#core/node-lifecycle/fleet-brake.ts";
import {
  createFleetRecord,
  type FleetRecord,
  formatFleetRecord,
  readFleetRecord,
} from "#core/node-lifecycle/fleet-record.ts";

/** Functions write the record at most once for twenty deletions, and never while the brake holds. */
const MAX_ATTEMPTS = 5;

/**
 * Releases the fleet brake, and records the number of clusters if known. It creates a missing record and
 * replaces a malformed one, but neither for a record of another version. Rejects if that failed.
 */
export async function releaseFleetBrake(
  store: RecordStore,
  clusters: number | undefined,
  signal: AbortSignal,
): Promise<ResetResult> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const stored = await store.read(signal);
    const read = readFleetRecord(stored.kind === "absent" ? "" : stored.text);
    if (read.kind === "unusable" && read.isForeign)
      throw new Error(`the brake of the fleet was not reset: ${store.name} ${read.message}`);
    const record = read.kind === "record" ? read.record : createFleetRecord();
    const next = buildNextRecord(record, new Date(), clusters);
    const isNew = stored.kind === "absent" || stored.text === "" || read.kind === "unusable";
    if (!isNew && next === record)
      return { reset: false, message: `the brake of the fleet is not pulled: nothing was changed` };
    const version = stored.kind === "absent" ? undefined : stored.version;
    if (!(await store.swap(formatFleetRecord(next), version, signal))) continue;
    return { reset: true, message: formatMessage(store.name, isNew, record, next) };
  }
  throw new Error(
    `the brake of the fleet was not reset: another writer changed ${store.name} ${MAX_ATTEMPTS} times meanwhile; try again`,
  );
}

function buildNextRecord(record: FleetRecord, now: Date, clusters: number | undefined): FleetRecord {
  if (record.brake !== undefined) return resetFleetBrake(record, now, clusters);
  // What counts still counts if no operator has to act.
  return clusters === undefined || clusters === record.clusters ? record : { ...record, clusters };
}

function formatMessage(
  name: string,
  isNew: boolean,
  { brake }: FleetRecord,
  { clusters }: FleetRecord,
): string {
  if (isNew) return `${name} is made: deletions of all clusters that share it count from now on`;
  if (brake !== undefined)
    return `the brake of the fleet, pulled ${brake.since}, is released: deletions are counted from zero`;
  return `the brake of the fleet is not pulled; ${clusters} clusters are noted`;
}

/** Reads the current record; rejects a missing or unusable one and says what to do. */
export async function readUsableFleetRecord(store: RecordStore, signal: AbortSignal): Promise<FleetRecord> {
  const stored = await store.read(signal);
  if (stored.kind === "absent") throw new Error(`${describeMissingRecord(store.name)}; ${UNTIL_THEN}`);
  const read = readFleetRecord(stored.text);
  if (read.kind === "record") return read.record;
  throw new Error(`${store.name} ${read.message}; ${UNTIL_THEN}`);
}

const UNTIL_THEN = "until then nothing is deleted that the cloud does not show as terminated";
