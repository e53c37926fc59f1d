import * as z from "zod";
import { UUID } from "#clouds/digitalocean/load-balancers/annotations/table.ts";
import { isNameTag, isOrphanTag } from "#clouds/digitalocean/load-balancers/orphans/tags.ts";
import {
  deleteTag,
  tagLoadBalancers,
  toActionAnswer,
  untagLoadBalancer,
} from "#clouds/digitalocean/requests.ts";
import type { Api } from "#clouds/http/api.ts";
import type { CallContext } from "#clouds/http/meter.ts";
import type { ActionAnswer } from "#core/capability.ts";
import type { CloudAction } from "#core/decision.ts";

// Tags and ids become parts of paths, and no other tags may be changed.
const OrphanTag = z.string().refine(isOrphanTag);
const MarkParameters = z.strictObject({ tag: OrphanTag, instead: OrphanTag.optional() });
const ReleaseParameters = z.strictObject({
  tag: z.string().refine(isNameTag),
  optional: z.literal(true).optional(),
});

/** Changes the tags for ownership and orphans; undefined for another action. */
export async function performTagAction(
  { action, target, parameters }: CloudAction,
  api: Api,
  callContext: CallContext,
): Promise<ActionAnswer | undefined> {
  if ((action === "DeleteTag" || action === "UnmarkLoadBalancer") && isOrphanTag(target))
    return toActionAnswer(await deleteTag(target, api, callContext));
  if (!UUID.test(target)) return undefined;
  const markParameters = action === "TagLoadBalancer" ? MarkParameters.safeParse(parameters).data : undefined;
  if (markParameters !== undefined) return markOrphan(target, markParameters, api, callContext);
  const releaseParameters =
    action === "UntagLoadBalancer" ? ReleaseParameters.safeParse(parameters).data : undefined;
  return releaseParameters && releaseLoadBalancer(target, releaseParameters, api, callContext);
}

/**
 * The old mark, or the missing new one, is removed first: a token that may not remove marks then writes none.
 */
async function markOrphan(
  id: string,
  { tag, instead }: z.output<typeof MarkParameters>,
  api: Api,
  callContext: CallContext,
): Promise<ActionAnswer> {
  const removed = await deleteTag(instead ?? tag, api, callContext);
  if (removed.kind === "fault") return toActionAnswer(removed);
  return toActionAnswer(await tagLoadBalancers(tag, [id], api, callContext));
}

/**
 * Releases a load balancer without the tag, or one that is gone. A token that may not remove tags may not
 * delete orphans either, because their mark is removed first: nothing must be removed then. If it is
 * optional, no answer of the tag API delays the Service: the call has already retried.
 */
async function releaseLoadBalancer(
  id: string,
  { tag, optional }: z.output<typeof ReleaseParameters>,
  api: Api,
  callContext: CallContext,
): Promise<ActionAnswer> {
  const untagged = await untagLoadBalancer(tag, id, api, callContext);
  if (untagged.kind === "ok") return { kind: "done", result: null };
  const { code, status } = untagged.fault;
  const isReleased = status === 404 || status === 403 || (optional === true && code !== "Aborted");
  return isReleased ? { kind: "done", result: null } : toActionAnswer(untagged);
}
