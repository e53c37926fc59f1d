import { EVENT_VERSION, type Event } from "#core/event.ts";

/**
 * Creates an event that starts a function without any work. Its only object is invalid, which the function
 * reports, and it is a dry run.
 */
export function createProbeEvent(
  of: Pick<Event, "controller" | "cluster" | "clusterHash">,
  id: string,
): Event {
  const { controller, cluster, clusterHash } = of;
  return {
    ...{ version: EVENT_VERSION, id, cluster, clusterHash, controller },
    reason: "replay",
    objects: [{}],
    dryRun: true,
  };
}
