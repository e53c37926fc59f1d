import { type Cluster, settingsOf } from "#config/cluster.ts";
import type { AskContext, Controller } from "#core/controller.ts";
import type { Event } from "#core/event.ts";
import type { Stop } from "#core/stop.ts";
import type { Deadline } from "#functions/parts/deadline.ts";
import type { Dependencies } from "#functions/parts/dependencies.ts";

/** What one invocation is about, as all its parts see it. */
export interface Invocation {
  readonly dependencies: Dependencies;
  readonly cluster: Cluster;
  readonly controller: Controller;
  readonly event: Event;
  readonly deadline: Deadline;
  /** The one moment at which everything in it is decided. */
  readonly now: Date;
  /** By whose clock. */
  readonly clock: string;
  /** What was stopped at that moment; nothing without it. */
  readonly stop?: Stop | undefined;
  /** Nine digits that name this invocation among others that work on the same objects. */
  readonly actor?: string | undefined;
}

/** What questions to the cloud depend on beside the object. */
export function askContextOf({
  cluster,
  event: { reason, related = {} },
  now,
  stop,
  actor,
}: Invocation): AskContext {
  return { reason, now, related, settings: settingsOf(cluster), stop, actor };
}

/** The share of the cloud account's quotas that it may spend: the event's, or the floor of the cluster. */
export function shareOf({ event, cluster }: Invocation): number {
  return event.budget?.share ?? cluster.limits.floorShare;
}
