/** One call, as the endpoint saw it. */
export interface CallRecord {
  readonly action: string;
  /** Milliseconds since the epoch at which the request was complete. */
  readonly at: number;
  /** HTTP status; 0 where no answer was sent. */
  readonly status: number;
  /** `OK`, AWS's error code, or the kind of the failure that was asked for. */
  readonly code: string;
  /** How many instances, zones or interfaces were answered. */
  readonly results: number;
  /** How many ids were asked for, as ids or as values of the longest filter. */
  readonly asked: number;
  /** Empty where the call was not signed. */
  readonly accessKeyId: string;
  /** The caller's account; empty where it is not known. */
  readonly account: string;
  /** Of the caller's session, where its credentials come from AssumeRole. */
  readonly roleArn: string | undefined;
}

/** The calls so far. */
export interface CallLog {
  add(record: CallRecord): void;
  /** Oldest first; no more than the last 100,000. */
  all(): readonly CallRecord[];
  /** All calls since the start, by action. */
  counts(): Readonly<Record<string, number>>;
}

const MAX_RECORDS = 100_000;

/** Action names come from outside, so no more than this many are counted by themselves. */
const MAX_ACTIONS = 1000;

/** A log with nothing in it. */
export function createCallLog(): CallLog {
  let records: CallRecord[] = [];
  const counts = new Map<string, number>();
  return {
    add(record) {
      records.push(record);
      // Shortened now and then, as taking the first of a long list at every call would be dear.
      if (records.length >= 2 * MAX_RECORDS) records = records.slice(-MAX_RECORDS);
      const action = counts.has(record.action) || counts.size < MAX_ACTIONS ? record.action : "other";
      counts.set(action, (counts.get(action) ?? 0) + 1);
    },
    all: () => records.slice(-MAX_RECORDS),
    counts: () => Object.fromEntries(counts),
  };
}
