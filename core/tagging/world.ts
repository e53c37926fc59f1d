import type { DoneWrite } from "#core/controller.ts";
import type { Because, CloudAction } from "#core/decision.ts";
import { TAG, type TagParameters, type Tags, type TagsResult, type TagsState } from "#core/tagging/model.ts";

/** What is known of resources and labels, by what the cloud said and by what became of our own writes since. */
export interface TagWorld {
  readonly resources: ReadonlyMap<string, Tags>;
  /** Nodes whose labels we wrote. */
  readonly labelled: ReadonlySet<string>;
  /** Ids of resources and names of nodes of which a write failed, with why: no other is tried in this invocation. */
  readonly failed: ReadonlyMap<string, Because>;
}

/** The world that an observation showed, after these writes. */
export function worldOf({ resources }: TagsState, done: readonly DoneWrite[]): TagWorld {
  const world = {
    resources: new Map(Object.entries(resources)),
    labelled: new Set<string>(),
    failed: new Map<string, Because>(),
  };
  for (const { write, result, failed } of done) {
    if (write.on === "cloud") {
      for (const id of idsOf(write)) {
        const because = failed ?? refusalOf(id, result);
        if (because !== undefined) world.failed.set(id, because);
        else world.resources.set(id, after({ ...world.resources.get(id) }, write));
      }
    } else if (failed !== undefined) world.failed.set(write.name, failed);
    else world.labelled.add(write.name);
  }
  return world;
}

function idsOf({ parameters }: CloudAction): readonly string[] {
  return (parameters as unknown as TagParameters).ids;
}

function after(before: Tags, { action, parameters }: CloudAction): Tags {
  const { tags } = parameters as unknown as TagParameters;
  if (action === TAG) return { ...before, ...tags };
  return Object.fromEntries(Object.entries(before).filter(([key]) => !Object.hasOwn(tags, key)));
}

function refusalOf(id: string, result: unknown): Because | undefined {
  const { refused } = result as TagsResult;
  const message = Object.hasOwn(refused, id) ? refused[id] : undefined;
  return message === undefined ? undefined : { code: "Refused", message };
}
