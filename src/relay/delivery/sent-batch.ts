import type { Cluster } from "#config/cluster.ts";
import { buildWatchContext } from "#config/cluster.ts";
import type { ApiObject, Watch } from "#core/controller.ts";
import type { Reason } from "#core/reason.ts";
import type { ObjectReport } from "#core/report.ts";
import type { BatchEntry, ReadBatch } from "#kube/apply/read.ts";

/**
 * The objects of an event during the rounds that decide on them. Objects may leave between rounds, which
 * moves the others to new positions.
 */
export interface SentBatch {
  /** Returns the snapshots for the next event. */
  snapshots(): readonly unknown[];
  /** Returns the objects by their position in the next event. */
  objects(): ReadonlyMap<number, ApiObject>;
  /** Returns the entries by their position in the first event. */
  entries(): readonly BatchEntry[];
  /** Returns the entries of a report with their positions in the first event. */
  placed(reports: readonly ObjectReport[]): readonly ObjectReport[];
  /** Takes the objects as they were read again, and the reports on those that need no more decision. */
  renew(read: ReadBatch): void;
  /** Returns the reports on the objects that left the batch so far. */
  left(): readonly ObjectReport[];
  /** Returns an entry for each object that makes it due again, with the reason. */
  due(because: Reason, afterSeconds: number): readonly ObjectReport[];
}

interface Entry {
  readonly index: number;
  readonly snapshot: unknown;
  /** Undefined if it is not an object of the resource; the function reports that itself. */
  readonly object: ApiObject | undefined;
}

/** Creates the batch of an event. */
export function createSentBatch(cluster: Cluster, watch: Watch, snapshots: readonly unknown[]): SentBatch {
  const context = buildWatchContext(cluster);
  const left: ObjectReport[] = [];
  let entries = snapshots.map((snapshot, index): Entry => {
    const parsed = watch.parse(snapshot);
    return { index, snapshot, object: parsed.kind === "object" ? parsed.object : undefined };
  });
  const known = (): readonly BatchEntry[] =>
    entries.flatMap(({ index, object }) => (object === undefined ? [] : [{ index, object }]));
  return {
    snapshots: () => entries.map(({ snapshot }) => snapshot),
    objects: () =>
      new Map(
        entries.flatMap(({ object }, place) => (object === undefined ? [] : [[place, object] as const])),
      ),
    entries: known,
    placed: (reports) =>
      reports.flatMap((report) => {
        const entry = entries[report.index];
        return entry === undefined ? [] : [{ ...report, index: entry.index }];
      }),
    renew(read) {
      const fresh = new Map(read.objects.map((each) => [each.index, each]));
      entries = entries.flatMap((entry): Entry[] => {
        const read = fresh.get(entry.index);
        if (read === undefined) return [entry];
        const { object, report } = read;
        if (report !== undefined) left.push(report);
        return object === undefined
          ? []
          : [{ index: entry.index, object, snapshot: watch.snapshot(object, context) }];
      });
    },
    left: () => left,
    due: (because, afterSeconds) =>
      known().map(({ index, object: { metadata } }): ObjectReport => {
        const { namespace, name, uid } = metadata;
        const about = { index, ...(namespace === undefined ? {} : { namespace }), name, uid };
        return { ...about, outcome: "retry", because, afterSeconds };
      }),
  };
}
