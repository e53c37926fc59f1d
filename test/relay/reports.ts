import type { Event } from "#core/event.ts";
import type { ObjectReport, Report } from "#core/report.ts";

/** What a function says of one object. */
export type Said = Partial<Omit<ObjectReport, "index" | "name" | "uid">>;

/** A report that says the same, or something of its own, of every object of the event. */
export function reportOn(event: Event, said: (index: number) => Said = () => ({})): Report {
  return {
    version: 1,
    id: event.id,
    cluster: event.cluster,
    controller: event.controller,
    objects: event.objects.map((object, index) => ({
      index,
      ...identityOf(object),
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

/** Name and uid of an object of an event. */
export function identityOf(object: unknown): { readonly name: string; readonly uid: string } {
  const { name, uid } = (object as { metadata: { name: string; uid: string } }).metadata;
  return { name, uid };
}
