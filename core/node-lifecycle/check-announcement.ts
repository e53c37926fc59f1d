import type { ObjectCount, ReadState } from "#core/controller.ts";
import { isSameJson } from "#core/json-patch.ts";
import { Node } from "#core/node/node.ts";
import { brakeOf, rememberedDeletions } from "#core/node-lifecycle/brake.ts";
import { seenInstance } from "#core/node-lifecycle/identity.ts";
import { isReady } from "#core/node-lifecycle/needs-work.ts";
import {
  CLOCK_SECONDS,
  type Deletion,
  type DeletionState,
  INTENT_SECONDS,
  readState,
  secondsSince,
} from "#core/node-lifecycle/state.ts";
import type { Moment } from "#core/rounds.ts";
import type { DeletionSettings } from "#core/settings.ts";

/** What whoever writes a function's deferred deletions knows by itself. */
export interface AnnouncementFacts {
  /** The nodes that were sent, as they were read last. */
  readonly nodes: readonly unknown[];
  /** The state as it was read last. */
  readonly state: ReadState | undefined;
  readonly count: ObjectCount | undefined;
  readonly settings: DeletionSettings;
  readonly now: Date;
}

/**
 * Returns why a state may not take the place of the one that was read, as the end of a sentence; undefined where it may. What is announced in it
 * are deletions of nodes that were sent, that are not Ready and were seen with an instance, within the brake; nothing that counts is forgotten, and
 * a brake that is pulled stays so. What the cloud says of their instances is not known here.
 */
export function faultOfAnnouncement(written: unknown, facts: AnnouncementFacts): string | undefined {
  const before = readState(facts.state);
  const after = readState({ kind: "object", object: written });
  if (before.kind === "unusable") return `cannot be read as it is: ${before.message}`;
  if (after.kind === "unusable") return `could not be read any more: ${after.message}`;
  const { brake, deletions } = before.state;
  if (brake !== undefined && !isSameJson(brake, after.state.brake))
    return "changes the brake, which is pulled";
  const added = Object.entries(after.state.deletions).filter(
    ([uid, deletion]) => !isSameJson(deletion, entryOf(deletions, uid)),
  );
  for (const [uid, deletion] of added) {
    const fault = faultOfDeletion(uid, deletion, facts);
    if (fault !== undefined) return `announces the deletion of node ${nameOf(uid, facts)}, ${fault}`;
  }
  // A clock that is ahead forgets them so much earlier.
  const remembered = rememberedDeletions(deletions, new Date(facts.now.getTime() + CLOCK_SECONDS * 1_000));
  const forgotten = Object.keys(remembered).find((uid) => entryOf(after.state.deletions, uid) === undefined);
  if (forgotten !== undefined) return `forgets the deletion of node ${forgotten}, which counts`;
  return faultOfBrake(added, after.state, facts, brake !== undefined);
}

/** Returns why a node may not be deleted, as the end of a sentence; undefined where its deletion stands in the state, announced at that moment. */
export function faultOfDeferredDeletion(
  uid: string,
  resourceVersion: string | undefined,
  moment: Moment,
  facts: AnnouncementFacts,
): string | undefined {
  const node = nodeOf(uid, facts);
  const stored = readState(facts.state);
  const deletion = stored.kind === "state" ? entryOf(stored.state.deletions, uid) : undefined;
  if (deletion === undefined || deletion.at !== moment.now || deletion.clock !== moment.clock)
    return "which nothing has announced in data.state of configmaps kube-system/serverless-ccm";
  if (node?.metadata.resourceVersion !== resourceVersion)
    return "not at the metadata.resourceVersion that was read";
  return faultOfDeletion(uid, deletion, facts);
}

function faultOfDeletion(uid: string, { at }: Deletion, facts: AnnouncementFacts): string | undefined {
  const { settings, now } = facts;
  const node = nodeOf(uid, facts);
  if (node === undefined) return "which was not sent";
  if (!settings.enabled) return "and the cluster's configuration says that nodes are not deleted";
  if (isReady(node)) return "whose status.conditions say that it is Ready";
  if (!settings.unseen && seenInstance(node) === undefined)
    return "which was never seen with the instance that its spec.providerID names";
  if (!(Math.abs(secondsSince(at, now)) <= INTENT_SECONDS + CLOCK_SECONDS))
    return `at ${at}, which is not now`;
  return undefined;
}

function faultOfBrake(
  added: readonly (readonly [string, Deletion])[],
  { deletions }: DeletionState,
  { settings, count }: AnnouncementFacts,
  isPulled: boolean,
): string | undefined {
  const [first] = added;
  if (first === undefined) return undefined;
  const [, { at }] = first;
  if (added.some(([, deletion]) => deletion.at !== at)) return "announces deletions of several moments";
  if (count?.kind !== "count") return "announces deletions, and how many nodes there are is not known";
  if (added.some(([, { nodes }]) => nodes !== count.count))
    return `announces deletions in a cluster of another size than its ${count.count} nodes`;
  const counted = added.filter(([, deletion]) => deletion.counted);
  if (counted.length === 0) return undefined;
  if (isPulled) return `announces ${counted.length} deletions that count, and the brake is pulled`;
  const leaving = added.length - counted.length;
  const brake = brakeOf(deletions, { now: new Date(at), settings, nodes: count.count, leaving });
  return (
    brake &&
    `announces ${counted.length} deletions that count, which is beyond the brake's limit ${brake.limit}`
  );
}

function nodeOf(uid: string, { nodes }: AnnouncementFacts): Node | undefined {
  return nodes.map((node) => Node.safeParse(node).data).find((node) => node?.metadata.uid === uid);
}

function nameOf(uid: string, facts: AnnouncementFacts): string {
  return nodeOf(uid, facts)?.metadata.name ?? uid;
}

function entryOf(deletions: DeletionState["deletions"], uid: string): Deletion | undefined {
  return Object.hasOwn(deletions, uid) ? deletions[uid] : undefined;
}
