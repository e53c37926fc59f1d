import type { Cluster } from "#config/cluster.ts";
import { watchContextOf } from "#config/cluster.ts";
import type { ApiObject, Watch } from "#core/controller.ts";
import type { Because } from "#core/decision.ts";
import type { ObjectReport } from "#core/report.ts";
import type { BatchEntry, ReadBatch } from "#kube/apply/read.ts";

/** The objects of an event over the rounds in which it is decided on: some may go meanwhile, and the others change their places. */
export interface SentBatch {
  /** As they go into the next event. */
  snapshots(): readonly unknown[];
  /** By their places there. */
  objects(): ReadonlyMap<number, ApiObject>;
  /** By their places in the first event. */
  entries(): readonly BatchEntry[];
  /** Entries of a report, with the places in the first event. */
  placed(reports: readonly ObjectReport[]): readonly ObjectReport[];
  /** As they were read again, and what is said of those that are not decided on any more. */
  renew(read: ReadBatch): void;
  /** All that is said of those so far. */
  left(): readonly ObjectReport[];
  /** An entry for each: due again, and why. */
  due(because: Because, afterSeconds: number): readonly ObjectReport[];
}

interface Entry {
  readonly index: number;
  readonly snapshot: unknown;
  /** Undefined where it is none of the resource, as the function says itself. */
  readonly object: ApiObject | undefined;
}

/** The batch as an event has it. */
export function createSentBatch(cluster: Cluster, watch: Watch, snapshots: readonly unknown[]): SentBatch {
  const context = watchContextOf(cluster);
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
