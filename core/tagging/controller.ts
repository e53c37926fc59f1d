import type { ClusterObject } from "#core/cluster-object.ts";
import { CLUSTER } from "#core/cluster-object.ts";
import type { AskContext, Controller, Subject } from "#core/controller.ts";
import { planEach } from "#core/decisions.ts";
import { NAMESPACES, NODES } from "#core/resources/resource.ts";
import { decideTags, type TagsAnswer } from "#core/tagging/decide.ts";
import { buildKnownTags } from "#core/tagging/known-tags.ts";
import { TAGS, type TaggingModel, type TagsState } from "#core/tagging/model.ts";
import { decidePhase, type TaggingPhase } from "#core/tagging/phase.ts";
import { listAbandonedResources } from "#core/tagging/plan.ts";
import { relatedNodes } from "#core/tagging/tagged-node.ts";
import { taggingWatch } from "#core/tagging/watch.ts";

/** The tagging models, loaded on demand, by cloud name. */
export type TaggingModels = Readonly<Record<string, () => Promise<TaggingModel>>>;

/** Creates the tagging controller, which tags the resources of nodes on every cloud with a model. */
export function createTaggingController(models: TaggingModels): Controller<ClusterObject, TagsAnswer> {
  const loaded = new Map<string, TaggingModel>();
  const getModel = ({ settings }: AskContext): TaggingModel | undefined =>
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
