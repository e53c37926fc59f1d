import type { Api, ApiAnswer } from "#clouds/http/api.ts";
import type { CallContext } from "#clouds/http/meter.ts";
import type { Outcome } from "#clouds/http/outcome.ts";

/**
 * Tags load balancers with one request; a tag that the account lacks is created first. Names become parts of
 * paths: the caller has checked them.
 */
export async function tagLoadBalancers(
  name: string,
  ids: readonly string[],
  api: Api,
  callContext: CallContext,
): Promise<Outcome<null>> {
  const first = await changeResources("POST", name, ids, api, callContext);
  if (first.kind === "ok" || first.fault.status !== 404) return first;
  const request = { operation: "tags_create", template: "POST /v2/tags", path: "/v2/tags" };
  const created = removeBody(await api.send({ method: "POST", ...request, body: { name } }, callContext));
  return created.kind === "fault" ? created : changeResources("POST", name, ids, api, callContext);
}

/** Removes a tag from a load balancer. */
export function untagLoadBalancer(
  name: string,
  id: string,
  api: Api,
  callContext: CallContext,
): Promise<Outcome<null>> {
  return changeResources("DELETE", name, [id], api, callContext);
}

/** Deletes a tag of the account, and removes it from all resources; a missing tag counts as deleted. */
export async function deleteTag(name: string, api: Api, callContext: CallContext): Promise<Outcome<null>> {
  const template = "DELETE /v2/tags/{name}";
  const request = { method: "DELETE", operation: "tags_delete", template, path: `/v2/tags/${name}` } as const;
  const answer = await api.send(request, callContext);
  const isGone =
    answer.kind === "fault" && answer.fault.status === 404 && answer.fault.errorId === "not_found";
  return isGone ? { kind: "ok", value: null } : removeBody(answer);
}

async function changeResources(
  method: "POST" | "DELETE",
  name: string,
  ids: readonly string[],
  api: Api,
  callContext: CallContext,
): Promise<Outcome<null>> {
  const resources = ids.map((id) => ({ resource_id: id, resource_type: "load_balancer" }));
  const operation = method === "POST" ? "tags_assign_resources" : "tags_unassign_resources";
  const template = `${method} /v2/tags/{name}/resources`;
  const request = { method, operation, template, path: `/v2/tags/${name}/resources` };
  return removeBody(await api.send({ ...request, body: { resources } }, callContext));
}

function removeBody(outcome: Outcome<ApiAnswer>): Outcome<null> {
  return outcome.kind === "ok" ? { kind: "ok", value: null } : outcome;
}
