import type { Event } from "#core/event.ts";
import type { ObjectReport, Report } from "#core/report.ts";

/** A function's report on one object. */
export type ReportInput = Partial<Omit<ObjectReport, "index" | "name" | "uid">>;

/** Builds a report with a default, or a given entry, for every object of the event. */
export function buildReport(event: Event, said: (index: number) => ReportInput = () => ({})): Report {
  return {
    version: 1,
    id: event.id,
    cluster: event.cluster,
    controller: event.controller,
    objects: event.objects.map((object, index) => ({
      index,
      ...parseIdentity(object),
      outcome: "unchanged" as const,
      because: { code: "UpToDate", message: "nothing to do" },
      ...said(index),
    })),
    durations: { cloudMs: 1, clusterMs: 2, totalMs: 3 },
    usage: {
      cloud: { calls: { DescribeInstances: 1 }, throttled: 0, waitedMs: 0 },
      cluster: { writes: 2, reads: 0, conflicts: 0, throttled: 0, events: 1, eventsDropped: 0 },
    },
  };
}

/** Returns the name and uid of an object of an event. */
export function parseIdentity(object: unknown): { readonly name: string; readonly uid: string } {
  const { name, uid } = (object as { metadata: { name: string; uid: string } }).metadata;
  return { name, uid };
}
