import type { Observation } from "#core/capability.ts";
import { CLUSTER, type ClusterObject } from "#core/cluster-object.ts";
import type { AskContext, Controller, DecisionContext, DoneWrite, Subject } from "#core/controller.ts";
import type { Decision } from "#core/decision.ts";
import { change, leaveUnchanged, planEach, retry, skip, toReference } from "#core/decisions.ts";
import { type NodeTagsModel, TAGS, type TagsState } from "#core/node-tags.ts";
import type { Reason } from "#core/reason.ts";
import { NAMESPACES, NODES } from "#core/resources/resource.ts";
import { buildKnownTags, decidePhase, isStale, type TaggingPhase } from "#core/tagging/phase.ts";
import { listAbandonedResources, planTags, type TaggingParts, type TaggingPlan } from "#core/tagging/plan.ts";
import { parseNodes, relatedNodes } from "#core/tagging/tagged-node.ts";
import { taggingWatch } from "#core/tagging/watch.ts";

/** The tagging models, loaded on demand, by cloud name. */
export type NodeTagsModels = Readonly<Record<string, () => Promise<NodeTagsModel>>>;

/** Creates the tagging controller, which tags the resources of nodes on every cloud with a model. */
export function createTaggingController(models: NodeTagsModels): Controller<ClusterObject, TagsAnswer> {
  const loaded = new Map<string, NodeTagsModel>();
  const getModel = ({ settings }: AskContext): NodeTagsModel | undefined =>
    loaded.get(settings.cloud.provider);
  return {
    ...taggingWatch,
    eventSource: taggingWatch.name,
    async load(provider) {
      const load = Object.hasOwn(models, provider) ? models[provider] : undefined;
      if (load !== undefined && !loaded.has(provider)) loaded.set(provider, await load());
    },
    buildQuestion(_, context) {
      const phase = decidePhase(getModel(context), context);
      if (phase.kind === "idle") return undefined;
      return { capability: TAGS, ask: phase.question };
    },
    // The event's node list may be old: the nodes are listed again before a resource without a node loses its
    // tags.
    getStateReference(batch, context) {
      const phase = decidePhase(getModel(context), context);
      const hasAbandoned = batch.some((subject) => hasAbandonedResources(subject, phase, context));
      const { apiVersion, name } = NAMESPACES;
      return hasAbandoned
        ? { apiVersion, name, at: CLUSTER.only, counted: NODES, listed: relatedNodes }
        : undefined;
    },
    decide: (batch, context) =>
      planEach(batch.map((subject) => decideTags(subject, getModel(context), context))),
    // The cloud is not known here: the write is recorded, and applied at the next decision.
    applyResult(subject, done) {
      const { answer } = subject;
      if (answer?.kind !== "observed") return subject;
      return { ...subject, answer: { ...answer, done: [...(answer.done ?? []), done] } };
    },
  };
}

function hasAbandonedResources(
  { object, answer }: Subject<ClusterObject, TagsAnswer>,
  phase: TaggingPhase,
  { settings }: AskContext,
): boolean {
  if (phase.kind === "idle" || answer?.kind !== "observed") return false;
  const known = buildKnownTags(answer.state as TagsState, []);
  return listAbandonedResources({ namespace: object, phase, settings, known }).size > 0;
}

/** The cloud's answer about a cluster's tags, with the writes done since. */
export type TagsAnswer = Observation & { readonly done?: readonly DoneWrite[] };

/** The cloud may not show the resource of a younger node yet. */
const YOUNG_MS = 5 * 60_000;

/** Seconds until unfinished work is checked again. */
const WAIT_SECONDS = { young: 15, incomplete: 30, passing: 5, refused: 300 } as const;

/** Decides on the tags of a cluster's nodes; `model` is its cloud's. */
function decideTags(
  { object, answer }: Subject<ClusterObject, TagsAnswer>,
  model: NodeTagsModel | undefined,
  context: DecisionContext,
): Decision {
  const reference = toReference(NAMESPACES, object);
  const phase = decidePhase(model, context);
  if (phase.kind === "idle") return skip(reference, phase.because);
  if (answer?.kind !== "observed") {
    const because = answer ?? NOT_ASKED;
    return retry(reference, { code: because.code, message: because.message }, getRetrySeconds(because.code));
  }
  const parts: TaggingParts = {
    namespace: object,
    phase,
    settings: context.settings,
    known: buildKnownTags(answer.state as TagsState, answer.done ?? []),
  };
  const abandoned = listAbandonedResources(parts);
  // A node missing from the event's list is not proven to be gone.
  const isComplete = abandoned.size === 0 || areNodesGone(abandoned, phase, context);
  const plan = planTags(parts, isComplete ? abandoned : new Map());
  const nextChange = change(reference, [...plan.untag, ...plan.tag, ...plan.labels], {
    because: { code: "Tagging", message: describePlan(plan) },
    independent: true,
  });
  return (
    nextChange ??
    (isComplete ? undefined : retry(reference, INCOMPLETE, WAIT_SECONDS.incomplete)) ??
    finishDecision()
  );

  function finishDecision(): Decision {
    const failed = [...parts.known.failed].filter(([, { code }]) => code !== "Gone");
    const [first] = failed;
    if (first !== undefined) {
      const [target, { code, message }] = first;
      const moreText = failed.length === 1 ? "" : ` (and ${failed.length - 1} more)`;
      const wait = Math.min(...failed.map(([, because]) => getRetrySeconds(because.code)));
      return retry(reference, { code, message: `${target}${moreText}: ${message}` }, wait);
    }
    const unseen = getWaitForUnseen(parts, context.now);
    if (unseen === 0) return leaveUnchanged(reference);
    const message = `resources of ${unseen} young nodes are not shown yet, or are not the cluster's`;
    return retry(reference, { code: "NotFound", message }, WAIT_SECONDS.young);
  }
}

/**
 * Whether the nodes of these resources are gone: the API server lists none of them, and its count equals the
 * list. Without a list the count must equal the event's nodes; invalid and duplicate nodes are not counted.
 */
function areNodesGone(
  resources: ReadonlyMap<string, unknown>,
  phase: TaggingParts["phase"],
  { listed, count }: DecisionContext,
): boolean {
  if (count?.kind !== "count" || listed?.kind === "unknown") return false;
  const nodes = listed === undefined ? phase.nodes : parseNodes(listed.items);
  if (new Set(nodes.map(({ metadata: { uid } }) => uid)).size !== count.count) return false;
  if (listed === undefined) return true;
  return nodes.every(({ spec: { providerID = "" } }) => {
    const id = phase.model.getResource(providerID);
    return id === undefined || !resources.has(id);
  });
}

function getWaitForUnseen({ phase, known }: TaggingParts, now: Date): number {
  const unseen = [...phase.checkedNodes].filter(([id, nodes]) => {
    const isYoung = nodes.some((node) => {
      const ageMs = now.getTime() - Date.parse(node.metadata.creationTimestamp);
      return ageMs < YOUNG_MS && isStale(node, phase.checksum);
    });
    return isYoung && !known.resources.has(id);
  });
  return unseen.length;
}

function describePlan({ untag, tag, labels }: TaggingPlan): string {
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

/** Temporary failures are retried soon, those that need a person late. */
function getRetrySeconds(code: string): number {
  return ["Denied", "Invalid", "Refused", "Rejected"].includes(code)
    ? WAIT_SECONDS.refused
    : WAIT_SECONDS.passing;
}

const NOT_ASKED: Reason = { code: "NoAnswer", message: "the cloud gave no answer about the cluster's tags" };

const INCOMPLETE: Reason = {
  code: "NodesIncomplete",
  message:
    "no list of nodes shows that the nodes of tagged resources are gone: nothing is untagged before one does",
};
