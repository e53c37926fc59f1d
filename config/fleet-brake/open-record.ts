import { memoryRecord } from "#config/fleet-brake/memory-record.ts";
import { RecordError, type RecordStore } from "#config/fleet-brake/record-store.ts";
import { parseS3Reference, s3Record } from "#config/fleet-brake/s3-record.ts";
import { shown } from "#core/shown-text.ts";

/** Opens records that not every process may have; undefined where a reference is none of theirs. */
export type OpenFurtherRecord = (reference: string) => RecordStore | undefined;

/** The record that `--fleet-brake` or FLEET_BRAKE names: `s3://BUCKET/KEY`, `memory`, or what `further` opens; undefined where it names none. */
export function openRecord(
  reference: string,
  further: OpenFurtherRecord = () => undefined,
): RecordStore | undefined {
  if (reference === "memory") return memoryRecord();
  const location = parseS3Reference(reference);
  return location === undefined ? further(reference) : s3Record(reference, location);
}

/** A record that nobody can read, in the place of one that nobody can mean: nothing that nothing proves is deleted then. */
export function noRecord(reference: string): RecordStore {
  const reject = (): Promise<never> =>
    Promise.reject(new RecordError(`FLEET_BRAKE says "${shown(reference)}", and takes s3://BUCKET/KEY here`));
  return { name: reference, read: reject, swap: reject };
}
