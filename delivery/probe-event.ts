import { EVENT_VERSION, type Event } from "#core/event.ts";

/**
 * An event that starts a function and has nothing done: its one object is none, which the function says in its report, and it is a dry
 * run besides.
 */
export function probeEvent(of: Pick<Event, "controller" | "cluster" | "clusterHash">, id: string): Event {
  const { controller, cluster, clusterHash } = of;
  return {
    ...{ version: EVENT_VERSION, id, cluster, clusterHash, controller },
    reason: "replay",
    objects: [{}],
    dryRun: true,
  };
}
