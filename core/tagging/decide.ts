import type { Observation } from "#core/capability.ts";
import type { ClusterObject } from "#core/cluster-object.ts";
import type { DecisionContext, DoneWrite, Subject } from "#core/controller.ts";
import type { Because, Decision } from "#core/decision.ts";
import { change, referenceTo, retry, skip, unchanged } from "#core/decisions.ts";
import { NAMESPACES, NODES } from "#core/resources/resource.ts";
import type { TaggingModel, TagsState } from "#core/tagging/model.ts";
import { leftBehind, planTags, type TaggingParts, type TaggingPlan } from "#core/tagging/plan.ts";
import { isStale, standingOf } from "#core/tagging/standing.ts";
import { parseNodes } from "#core/tagging/tagged-node.ts";
import { worldOf } from "#core/tagging/world.ts";

/** What the cloud says of a cluster's tags, and what we have done since. */
export type TagsAnswer = Observation & { readonly done?: readonly DoneWrite[] };

/** A node's resource may not be shown yet while the node is that young. */
const YOUNG_MS = 5 * 60_000;

/** Seconds after which what is not done is looked at again. */
const WAIT_SECONDS = { young: 15, incomplete: 30, passing: 5, refused: 300 } as const;

/** Decides on the tags of a cluster's nodes; `model` is its cloud's. */
export function decideTags(
  { object, answer }: Subject<ClusterObject, TagsAnswer>,
  model: TaggingModel | undefined,
  context: DecisionContext,
): Decision {
  const reference = referenceTo(NAMESPACES, object);
  const standing = standingOf(model, context);
  if (standing.kind === "idle") return skip(reference, standing.because);
  if (answer?.kind !== "observed") {
    const because = answer ?? NOT_ASKED;
    return retry(reference, { code: because.code, message: because.message }, waitAfter(because.code));
  }
  const parts: TaggingParts = {
    namespace: object,
    standing,
    settings: context.settings,
    world: worldOf(answer.state as TagsState, answer.done ?? []),
  };
  const left = leftBehind(parts);
  // A node that is left out of the event's list is not a node that is gone.
  const isComplete = left.size === 0 || areNodesGone(left, standing, context);
  const plan = planTags(parts, isComplete ? left : new Map());
  const changing = change(reference, [...plan.untag, ...plan.tag, ...plan.labels], {
    because: { code: "Tagging", message: sentenceOf(plan) },
    independent: true,
  });
  return (
    changing ?? (isComplete ? undefined : retry(reference, INCOMPLETE, WAIT_SECONDS.incomplete)) ?? rest()
  );

  function rest(): Decision {
    const failed = [...parts.world.failed].filter(([, { code }]) => code !== "Gone");
    const [first] = failed;
    if (first !== undefined) {
      const [what, { code, message }] = first;
      const more = failed.length === 1 ? "" : ` (and ${failed.length - 1} more)`;
      const wait = Math.min(...failed.map(([, because]) => waitAfter(because.code)));
      return retry(reference, { code, message: `${what}${more}: ${message}` }, wait);
    }
    const unseen = youngUnseen(parts, context.now);
    if (unseen === 0) return unchanged(reference);
    const message = `resources of ${unseen} young nodes are not shown yet, or are not the cluster's`;
    return retry(reference, { code: "NotFound", message }, WAIT_SECONDS.young);
  }
}

/**
 * Whether the nodes of these resources are gone: the API server lists none of them now, and counts as many as it lists. Without a list there
 * have to be as many as the event brings; what is no node, or one twice, is not counted.
 */
function areNodesGone(
  resources: ReadonlyMap<string, unknown>,
  { model }: TaggingParts["standing"],
  { listed, count, related }: DecisionContext,
): boolean {
  if (count?.kind !== "count" || listed?.kind === "unknown") return false;
  const nodes = parseNodes(listed?.items ?? related[NODES.name]?.items ?? []);
  if (new Set(nodes.map(({ metadata: { uid } }) => uid)).size !== count.count) return false;
  if (listed === undefined) return true;
  return nodes.every(({ spec: { providerID = "" } }) => {
    const id = model.resourceOf(providerID);
    return id === undefined || !resources.has(id);
  });
}

function youngUnseen({ standing, world }: TaggingParts, now: Date): number {
  const unseen = [...standing.looked].filter(([id, nodes]) => {
    const isYoung = nodes.some((node) => {
      const ageMs = now.getTime() - Date.parse(node.metadata.creationTimestamp);
      return ageMs < YOUNG_MS && isStale(node, standing.checksum);
    });
    return isYoung && !world.resources.has(id);
  });
  return unseen.length;
}

function sentenceOf({ untag, tag, labels }: TaggingPlan): string {
  const actions = [
    [untag.length, "removals of tags"],
    [tag.length, "taggings"],
    [labels.length, "labels of nodes"],
  ] as const;
  return actions
    .filter(([count]) => count > 0)
    .map(([count, what]) => `${count} ${what}`)
    .join(", ");
}

/** What passes by itself is tried again soon, and what somebody has to mend late. */
function waitAfter(code: string): number {
  return ["Denied", "Invalid", "Refused", "Rejected"].includes(code)
    ? WAIT_SECONDS.refused
    : WAIT_SECONDS.passing;
}

const NOT_ASKED: Because = { code: "NoAnswer", message: "the cloud said nothing of the cluster's tags" };

const INCOMPLETE: Because = {
  code: "NodesIncomplete",
  message:
    "no list of nodes shows that the nodes of tagged resources are gone: nothing is untagged before one does",
};
