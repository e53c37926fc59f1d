import type { DoneWrite } from "#core/controller.ts";
import type { CloudAction } from "#core/decision.ts";
import type { Reason } from "#core/reason.ts";
import { TAG, type TagParameters, type Tags, type TagsResult, type TagsState } from "#core/tagging/model.ts";

/** The known tags and labels, from the cloud's answer and the results of our own writes since. */
export interface KnownTags {
  readonly resources: ReadonlyMap<string, Tags>;
  /** Nodes whose labels we wrote. */
  readonly labelledNodes: ReadonlySet<string>;
  /**
   * IDs of resources and names of nodes whose write failed, with the reason: it is not retried in this
   * invocation.
   */
  readonly failed: ReadonlyMap<string, Reason>;
}

/** Returns the tags and labels after an observation and the given writes. */
export function buildKnownTags({ resources }: TagsState, done: readonly DoneWrite[]): KnownTags {
  const knownTags = {
    resources: new Map(Object.entries(resources)),
    labelledNodes: new Set<string>(),
    failed: new Map<string, Reason>(),
  };
  for (const { write, result, failed } of done) {
    if (write.on === "cloud") {
      for (const id of getActionIds(write)) {
        const because = failed ?? findRejection(id, result);
        if (because !== undefined) knownTags.failed.set(id, because);
        else knownTags.resources.set(id, applyTagAction({ ...knownTags.resources.get(id) }, write));
      }
    } else if (failed !== undefined) knownTags.failed.set(write.name, failed);
    else knownTags.labelledNodes.add(write.name);
  }
  return knownTags;
}

function getActionIds({ parameters }: CloudAction): readonly string[] {
  return (parameters as unknown as TagParameters).ids;
}

function applyTagAction(current: Tags, { action, parameters }: CloudAction): Tags {
  const { tags } = parameters as unknown as TagParameters;
  if (action === TAG) return { ...current, ...tags };
  return Object.fromEntries(Object.entries(current).filter(([key]) => !Object.hasOwn(tags, key)));
}

function findRejection(id: string, result: unknown): Reason | undefined {
  const { refused } = result as TagsResult;
  const message = Object.hasOwn(refused, id) ? refused[id] : undefined;
  return message === undefined ? undefined : { code: "Refused", message };
}
