import type { Cluster } from "#config/cluster.ts";
import {
  type ControllerName,
  EVENT_VERSION,
  type Event,
  type EventReason,
  MAX_BATCH_BYTES,
  MAX_BATCH_OBJECTS,
  MAX_EVENT_BYTES,
  type ObjectHint,
  type RelatedList,
  STOPPED_EVENT_VERSION,
} from "#core/event.ts";
import type { Settings } from "#core/settings.ts";
import type { Stop } from "#core/stop.ts";
import type { ApiObject, ResyncPolicy } from "#core/watch.ts";

/** An object of a batch. */
export interface BatchedObject {
  readonly uid: string;
  readonly snapshot: ApiObject;
  /** What the function needs to know about the object beyond the object itself. */
  readonly hint?: ObjectHint | undefined;
}

/** The fields of an event other than its objects. */
export interface EventFacts {
  readonly id: string;
  readonly cluster: Cluster;
  readonly clusterHash: string;
  readonly controller: ControllerName;
  readonly reason: EventReason;
  /** The share of the account's quotas that the event may spend. Default: the cluster's floor. */
  readonly share?: number;
  /** Clusters that share the account, as far as the sender knows. */
  readonly accountClusters?: number;
  /** Related objects that the decisions read, by resource plural; empty if the controller reads none. */
  readonly related: Readonly<Record<string, RelatedList>> | undefined;
  /** Whether the cluster uses all its permits, or has more objects to send than this batch. */
  readonly busy: boolean;
  /** The operators' stop for the cluster; undefined without one. */
  readonly stop?: Stop | undefined;
  /** Whether the controller deletes things (`Watch.deletes`). */
  readonly deletes?: boolean | undefined;
}

/** Builds the event of a batch. It contains hints only for objects that have one. */
export function buildBatchEvent(facts: EventFacts, objects: readonly BatchedObject[]): Event {
  const hints = collectHints(objects);
  const { stop } = facts;
  return {
    // An older function would drop the unknown key and delete.
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
    // A function without stop support still understands a dry run.
    ...(facts.cluster.policies.dryRun || stop === "writes" ? { dryRun: true as const } : {}),
    ...(stop === undefined ? {} : { stop }),
  };
}

function collectHints(objects: readonly BatchedObject[]): Record<string, ObjectHint> | undefined {
  let hints: Record<string, ObjectHint> | undefined;
  for (const { uid, hint } of objects) {
    if (hint === undefined) continue;
    hints ??= {};
    hints[uid] = hint;
  }
  return hints;
}

/**
 * Returns the seconds between two refreshes of a cluster's objects; undefined if the controller leaves the
 * period to the caller.
 */
export function getRefreshPeriod<T extends ApiObject>(
  { everySeconds }: ResyncPolicy<T>,
  settings: Settings,
): number | undefined {
  return typeof everySeconds === "function" ? everySeconds(settings) : everySeconds;
}

/** Bytes of an event around its objects, rounded up generously. */
const ENVELOPE_BYTES = 2_000;

/** The result of filling one batch. */
interface Batch<T> {
  readonly objects: readonly T[];
  /** Objects too large for any event. */
  readonly tooLarge: readonly T[];
}

/**
 * Fills one batch from the front of `ready`, up to the limits of an event. An object too large for a shared
 * event goes alone.
 */
export function fillBatch<T extends { readonly snapshot: unknown }>(ready: Iterable<T>): Batch<T> {
  const objects: T[] = [];
  const tooLarge: T[] = [];
  let bytes = 0;
  for (const object of ready) {
    if (objects.length === MAX_BATCH_OBJECTS || tooLarge.length === MAX_BATCH_OBJECTS) break;
    const size = Buffer.byteLength(JSON.stringify(object.snapshot)) + 1;
    if (size > MAX_EVENT_BYTES - ENVELOPE_BYTES) tooLarge.push(object);
    else if (objects.length > 0 && bytes + size > MAX_BATCH_BYTES) break;
    else {
      objects.push(object);
      bytes += size;
    }
  }
  return { objects, tooLarge };
}
