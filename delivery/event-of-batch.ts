import type { Cluster } from "#config/cluster.ts";
import type { ApiObject } from "#core/controller.ts";
import {
  type ControllerName,
  EVENT_VERSION,
  type Event,
  type EventReason,
  type ObjectHint,
  type RelatedList,
  STOPPED_EVENT_VERSION,
} from "#core/event.ts";
import type { Stop } from "#core/stop.ts";

/** An object of a batch. */
export interface BatchedObject {
  readonly uid: string;
  readonly snapshot: ApiObject;
  /** What the function is to know of it that is not on it. */
  readonly hint?: ObjectHint | undefined;
}

/** What an event is made of, beside its objects. */
export interface EventFacts {
  readonly id: string;
  readonly cluster: Cluster;
  readonly clusterHash: string;
  readonly controller: ControllerName;
  readonly reason: EventReason;
  /** The part of the account's quotas that it may spend; the cluster's floor without it. */
  readonly share?: number;
  /** Clusters that draw on the account, as far as the sender knows. */
  readonly accountClusters?: number;
  /** What decisions on these objects read of others, by the plural of their resource; none where the controller reads none. */
  readonly related: Readonly<Record<string, RelatedList>> | undefined;
  /** Whether the cluster has as much in flight as it may, or more than this batch to send. */
  readonly busy: boolean;
  /** What operators have stopped for the cluster; nothing without it. */
  readonly stop?: Stop | undefined;
  /** Whether the controller takes things away (`Watch.deletes`). */
  readonly deletes?: boolean | undefined;
}

/** The event of a batch; its hints are of those objects of which something is known. */
export function eventOf(facts: EventFacts, objects: readonly BatchedObject[]): Event {
  const hints = hintsOf(objects);
  const { stop } = facts;
  return {
    // A function that does not know the key would drop it, and delete.
    version: stop === "deletes" && facts.deletes ? STOPPED_EVENT_VERSION : EVENT_VERSION,
    id: facts.id,
    cluster: facts.cluster.name,
    clusterHash: facts.clusterHash,
    controller: facts.controller,
    reason: facts.reason,
    objects: objects.map((object) => object.snapshot),
    ...(facts.related === undefined ? {} : { related: facts.related }),
    ...(facts.share === undefined ? {} : { budget: { share: facts.share } }),
    ...(facts.accountClusters === undefined ? {} : { accountClusters: facts.accountClusters }),
    ...(hints === undefined ? {} : { hints }),
    ...(facts.busy ? { busy: true as const } : {}),
    // One that does not know what is stopped knows what a dry run is.
    ...(facts.cluster.policies.dryRun || stop === "writes" ? { dryRun: true as const } : {}),
    ...(stop === undefined ? {} : { stop }),
  };
}

function hintsOf(objects: readonly BatchedObject[]): Record<string, ObjectHint> | undefined {
  let hints: Record<string, ObjectHint> | undefined;
  for (const { uid, hint } of objects) {
    if (hint === undefined) continue;
    hints ??= {};
    hints[uid] = hint;
  }
  return hints;
}
