/** One call, as the endpoint saw it. */
export interface CallRecord {
  readonly action: string;
  /** Milliseconds since the epoch at which the request was complete. */
  readonly at: number;
  /** HTTP status; 0 without an answer. */
  readonly status: number;
  /** `OK`, AWS's error code, or the kind of the planned failure. */
  readonly code: string;
  /** The number of returned instances, zones or interfaces. */
  readonly results: number;
  /** The number of requested IDs, as IDs or as values of the longest filter. */
  readonly asked: number;
  /** Empty if the call was not signed. */
  readonly accessKeyId: string;
  /** The caller's account; empty if unknown. */
  readonly account: string;
  /** The role of the caller's session, if its credentials come from AssumeRole. */
  readonly roleArn: string | undefined;
}

/** The calls so far. */
export interface CallLog {
  add(record: CallRecord): void;
  /** Oldest first; only the last 100,000. */
  all(): readonly CallRecord[];
  /** All calls since the start, by action. */
  counts(): Readonly<Record<string, number>>;
}

const MAX_RECORDS = 100_000;

/** Action names come from outside, so at most this many are counted separately. */
const MAX_ACTIONS = 1000;

/** Creates an empty log. */
export function createCallLog(): CallLog {
  let records: CallRecord[] = [];
  const counts = new Map<string, number>();
  return {
    add(record) {
      records.push(record);
      // Shortened now and then, as removing the first of a long list at every call would be expensive.
      if (records.length >= 2 * MAX_RECORDS) records = records.slice(-MAX_RECORDS);
      const action = counts.has(record.action) || counts.size < MAX_ACTIONS ? record.action : "other";
      counts.set(action, (counts.get(action) ?? 0) + 1);
    },
    all: () => records.slice(-MAX_RECORDS),
    counts: () => Object.fromEntries(counts),
  };
}
