import type { ClusterObject } from "#core/cluster-object.ts";
import { CLUSTER } from "#core/cluster-object.ts";
import type { AskContext, Controller, Subject } from "#core/controller.ts";
import { each } from "#core/decisions.ts";
import { NAMESPACES, NODES } from "#core/resources/resource.ts";
import { decideTags, type TagsAnswer } from "#core/tagging/decide.ts";
import { TAGS, type TaggingModel, type TagsState } from "#core/tagging/model.ts";
import { leftBehind } from "#core/tagging/plan.ts";
import { type Standing, standingOf } from "#core/tagging/standing.ts";
import { relatedNodes } from "#core/tagging/tagged-node.ts";
import { taggingWatch } from "#core/tagging/watch.ts";
import { worldOf } from "#core/tagging/world.ts";

/** Loads what tags are on a cloud, by the cloud's name. */
export type TaggingModels = Readonly<Record<string, () => Promise<TaggingModel>>>;

/** The tagging controller: tags on the resources of nodes, on each cloud that has a model of them. */
export function createTaggingController(models: TaggingModels): Controller<ClusterObject, TagsAnswer> {
  const loaded = new Map<string, TaggingModel>();
  const modelOf = ({ settings }: AskContext): TaggingModel | undefined => loaded.get(settings.cloud.provider);
  return {
    ...taggingWatch,
    eventSource: taggingWatch.name,
    async load(provider) {
      const load = Object.hasOwn(models, provider) ? models[provider] : undefined;
      if (load !== undefined && !loaded.has(provider)) loaded.set(provider, await load());
    },
    asks(_, context) {
      const standing = standingOf(modelOf(context), context);
      if (standing.kind === "idle") return undefined;
      return { capability: TAGS, ask: standing.question };
    },
    // The event's list of nodes may be old: before tags are taken from a resource without a node, the nodes are listed anew.
    stateOf(batch, context) {
      const standing = standingOf(modelOf(context), context);
      const isAnyLeft = batch.some((subject) => hasLeft(subject, standing, context));
      const { apiVersion, name } = NAMESPACES;
      return isAnyLeft
        ? { apiVersion, name, at: CLUSTER.only, counted: NODES, listed: relatedNodes }
        : undefined;
    },
    decide: (batch, context) => each(batch.map((subject) => decideTags(subject, modelOf(context), context))),
    // Which cloud it is does not matter yet: what was done is kept, and looked at when the rest is decided on.
    fold(subject, done) {
      const { answer } = subject;
      if (answer?.kind !== "observed") return subject;
      return { ...subject, answer: { ...answer, done: [...(answer.done ?? []), done] } };
    },
  };
}

function hasLeft(
  { object, answer }: Subject<ClusterObject, TagsAnswer>,
  standing: Standing,
  { settings }: AskContext,
): boolean {
  if (standing.kind === "idle" || answer?.kind !== "observed") return false;
  const world = worldOf(answer.state as TagsState, []);
  return leftBehind({ namespace: object, standing, settings, world }).size > 0;
}
