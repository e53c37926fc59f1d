import type { ObjectCount, StateResult } from "#core/controller.ts";
import { isSameJson } from "#core/json-patch.ts";
import { Node } from "#core/node/node.ts";
import type { DeletionSettings } from "#core/node/settings.ts";
import { checkBrake, pruneDeletions } from "#core/node-lifecycle/brake.ts";
import { parseObservedInstance } from "#core/node-lifecycle/location.ts";
import { isReady } from "#core/node-lifecycle/needs-work.ts";
import {
  CLOCK_SECONDS,
  type Deletion,
  type DeletionState,
  getSecondsSince,
  INTENT_SECONDS,
  readState,
} from "#core/node-lifecycle/state.ts";
import type { Moment } from "#core/rounds.ts";

/** The facts that the writer of a function's deferred deletions knows itself. */
export interface AnnouncementFacts {
  /** The nodes that were sent, as last read. */
  readonly nodes: readonly unknown[];
  /** The state as last read. */
  readonly state: StateResult | undefined;
  readonly count: ObjectCount | undefined;
  readonly settings: DeletionSettings;
  readonly now: Date;
}

/**
 * Returns why a state may not replace the one that was read, as the end of a sentence; undefined if it may.
 * It may announce only deletions, within the brake, of nodes that were sent, are not Ready and were observed
 * with an instance. It must keep every deletion that counts, and an engaged brake. The cloud's answers about
 * the instances are not known here.
 */
export function checkAnnouncement(written: unknown, facts: AnnouncementFacts): string | undefined {
  const recorded = readState(facts.state);
  const after = readState({ kind: "object", object: written });
  if (recorded.kind === "unusable") return `cannot be read as it is: ${recorded.message}`;
  if (after.kind === "unusable") return `could not be read any more: ${after.message}`;
  const { brake, deletions } = recorded.state;
  if (brake !== undefined && !isSameJson(brake, after.state.brake))
    return "changes the brake, which is pulled";
  const added = Object.entries(after.state.deletions).filter(
    ([uid, deletion]) => !isSameJson(deletion, findDeletion(deletions, uid)),
  );
  for (const [uid, deletion] of added) {
    const fault = checkDeletion(uid, deletion, facts);
    if (fault !== undefined) return `announces the deletion of node ${getNodeName(uid, facts)}, ${fault}`;
  }
  // A clock that is ahead drops them correspondingly earlier.
  const remembered = pruneDeletions(deletions, new Date(facts.now.getTime() + CLOCK_SECONDS * 1_000));
  const forgotten = Object.keys(remembered).find(
    (uid) => findDeletion(after.state.deletions, uid) === undefined,
  );
  if (forgotten !== undefined) return `forgets the deletion of node ${forgotten}, which counts`;
  return checkBrakeChange(added, after.state, facts, brake !== undefined);
}

/**
 * Returns why a node may not be deleted, as the end of a sentence. Undefined if the state contains its
 * deletion, announced at that moment.
 */
export function checkDeferredDeletion(
  uid: string,
  resourceVersion: string | undefined,
  moment: Moment,
  facts: AnnouncementFacts,
): string | undefined {
  const node = findNode(uid, facts);
  const stored = readState(facts.state);
  const deletion = stored.kind === "state" ? findDeletion(stored.state.deletions, uid) : undefined;
  if (deletion === undefined || deletion.at !== moment.now || deletion.clock !== moment.clock)
    return "which nothing has announced in data.state of configmaps kube-system/serverless-ccm";
  if (node?.metadata.resourceVersion !== resourceVersion)
    return "not at the metadata.resourceVersion that was read";
  return checkDeletion(uid, deletion, facts);
}

function checkDeletion(uid: string, { at }: Deletion, facts: AnnouncementFacts): string | undefined {
  const { settings, now } = facts;
  const node = findNode(uid, facts);
  if (node === undefined) return "which was not sent";
  if (!settings.enabled) return "and the cluster's configuration says that nodes are not deleted";
  if (isReady(node)) return "whose status.conditions say that it is Ready";
  if (!settings.unseen && parseObservedInstance(node) === undefined)
    return "which was never seen with the instance that its spec.providerID names";
  if (!(Math.abs(getSecondsSince(at, now)) <= INTENT_SECONDS + CLOCK_SECONDS))
    return `at ${at}, which is not now`;
  return undefined;
}

function checkBrakeChange(
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
  const brake = checkBrake(deletions, { now: new Date(at), settings, nodes: count.count, leaving });
  return (
    brake &&
    `announces ${counted.length} deletions that count, which is beyond the brake's limit ${brake.limit}`
  );
}

function findNode(uid: string, { nodes }: AnnouncementFacts): Node | undefined {
  return nodes.map((node) => Node.safeParse(node).data).find((node) => node?.metadata.uid === uid);
}

function getNodeName(uid: string, facts: AnnouncementFacts): string {
  return findNode(uid, facts)?.metadata.name ?? uid;
}

function findDeletion(deletions: DeletionState["deletions"], uid: string): Deletion | undefined {
  return Object.hasOwn(deletions, uid) ? deletions[uid] : undefined;
}
