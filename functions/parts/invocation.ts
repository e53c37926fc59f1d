import { type Cluster, selectSettings } from "#config/cluster.ts";
import type { AskContext, Controller } from "#core/controller.ts";
import type { Event } from "#core/event.ts";
import type { Stop } from "#core/stop.ts";
import type { Dependencies } from "#functions/parts/dependencies.ts";
import type { Deadline } from "#functions/parts/platform-function.ts";

/** The state of one invocation, shared by all its parts. */
export interface Invocation {
  readonly dependencies: Dependencies;
  readonly cluster: Cluster;
  readonly controller: Controller;
  readonly event: Event;
  readonly deadline: Deadline;
  /** The time of all decisions in it. */
  readonly now: Date;
  /** The clock of that time. */
  readonly clock: string;
  /** The stop at that time; undefined without one. */
  readonly stop?: Stop | undefined;
  /** Nine digits that identify this invocation among others for the same objects. */
  readonly actor?: string | undefined;
}

/** Returns what cloud requests depend on besides the object. */
export function buildAskContext({
  cluster,
  event: { reason, related = {} },
  now,
  stop,
  actor,
}: Invocation): AskContext {
  return { reason, now, related, settings: selectSettings(cluster), stop, actor };
}

/**
 * Returns the share of the account's quotas that the invocation may spend: the event's, or the cluster's
 * floor.
 */
export function getQuotaShare({ event, cluster }: Invocation): number {
  return event.budget?.share ?? cluster.limits.floorShare;
}
