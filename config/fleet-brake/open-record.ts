import { createMemoryRecord } from "#config/fleet-brake/memory-record.ts";
import { RecordError, type RecordStore } from "#config/fleet-brake/record-store.ts";
import { createS3Record, parseS3Reference } from "#config/fleet-brake/s3-record.ts";
import { sanitizeText } from "#core/sanitize-text.ts";

/** Opens record stores that only some processes may have; undefined for other references. */
export type OpenRecordExtension = (reference: string) => RecordStore | undefined;

/**
 * Opens the record that `--fleet-brake` or FLEET_BRAKE names: `s3://BUCKET/KEY`, `memory`, or a store that
 * `further` opens. Undefined if the reference is empty.
 */
export function openRecord(
  reference: string,
  further: OpenRecordExtension = () => undefined,
): RecordStore | undefined {
  if (reference === "memory") return createMemoryRecord();
  const location = parseS3Reference(reference);
  return location === undefined ? further(reference) : createS3Record(reference, location);
}

/** Returns an unreadable record for an invalid reference, so that unproven deletions are not granted. */
export function createUnreadableRecord(reference: string): RecordStore {
  const reject = (): Promise<never> =>
    Promise.reject(
      new RecordError(`FLEET_BRAKE says "${sanitizeText(reference)}", and takes s3://BUCKET/KEY here`),
    );
  return { name: reference, read: reject, swap: reject };
}
