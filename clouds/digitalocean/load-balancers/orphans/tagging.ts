import * as z from "zod";
import { actionAnswerOf } from "#clouds/digitalocean/capability-call.ts";
import { UUID } from "#clouds/digitalocean/load-balancers/annotations/table.ts";
import { isNameTag, isOrphanTag } from "#clouds/digitalocean/load-balancers/orphans/tags.ts";
import { deleteTag, tagLoadBalancers, untagLoadBalancer } from "#clouds/digitalocean/tag-requests.ts";
import type { Api, Turn } from "#clouds/http/api.ts";
import type { ActionAnswer } from "#core/capability.ts";
import type { CloudAction } from "#core/decision.ts";

// Tags and ids become part of paths, and whatever else a tag says is nobody's of ours to change.
const OrphanTag = z.string().refine(isOrphanTag);
const Marking = z.strictObject({ tag: OrphanTag, instead: OrphanTag.optional() });
const LettingGo = z.strictObject({ tag: z.string().refine(isNameTag), optional: z.literal(true).optional() });

/** Does what is done to the tags that say whose a load balancer is, and that it is an orphan; undefined of another action. */
export async function performTagging(
  { action, target, parameters }: CloudAction,
  api: Api,
  turn: Turn,
): Promise<ActionAnswer | undefined> {
  if ((action === "DeleteTag" || action === "UnmarkLoadBalancer") && isOrphanTag(target))
    return actionAnswerOf(await deleteTag(target, api, turn));
  if (!UUID.test(target)) return undefined;
  const marking = action === "TagLoadBalancer" ? Marking.safeParse(parameters).data : undefined;
  if (marking !== undefined) return mark(target, marking, api, turn);
  const lettingGo = action === "UntagLoadBalancer" ? LettingGo.safeParse(parameters).data : undefined;
  return lettingGo && letGo(target, lettingGo, api, turn);
}

/** The old mark goes first, or the one that is not there yet: whoever may not take marks off writes none. */
async function mark(
  id: string,
  { tag, instead }: z.output<typeof Marking>,
  api: Api,
  turn: Turn,
): Promise<ActionAnswer> {
  const before = await deleteTag(instead ?? tag, api, turn);
  if (before.kind === "fault") return actionAnswerOf(before);
  return actionAnswerOf(await tagLoadBalancers(tag, [id], api, turn));
}

/**
 * What carries the tag no more, or is not there any more, is let go. A token that may take no tag off may not delete an orphan either, whose
 * mark goes first: then nothing has to be taken off. Where it is optional, no answer of the tag API holds the Service back: the request was
 * repeated as far as one call repeats it.
 */
async function letGo(
  id: string,
  { tag, optional }: z.output<typeof LettingGo>,
  api: Api,
  turn: Turn,
): Promise<ActionAnswer> {
  const untagged = await untagLoadBalancer(tag, id, api, turn);
  if (untagged.kind === "ok") return { kind: "done", result: null };
  const { code, status } = untagged.fault;
  const isLetGo = status === 404 || status === 403 || (optional === true && code !== "Aborted");
  return isLetGo ? { kind: "done", result: null } : actionAnswerOf(untagged);
}
