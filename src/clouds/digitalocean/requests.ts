import * as z from "zod";
import type { Api, ApiAnswer } from "#clouds/http/api.ts";
import type { Budget } from "#clouds/http/budget.ts";
import { type CapabilityCalls, createCapabilityCalls } from "#clouds/http/capability-calls.ts";
import type { CallContext } from "#clouds/http/meter.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { createInvocationShares } from "#clouds/invocation-shares.ts";
import { toFailure } from "#clouds/outcome.ts";
import type { ActionAnswer } from "#core/capability.ts";
import { findNearest } from "#core/nearest.ts";

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

/**
 * Creates calls that spend the same quota as nodes. Questions wait while less than `times` the reserve is
 * left.
 */
export function createCalls(budget: Budget, times?: number): CapabilityCalls {
  return createCapabilityCalls({
    title: "DigitalOcean",
    enter: createInvocationShares(budget),
    isHeldBack: () => budget.isLow(times),
  });
}

/** Converts a request's outcome to the result of an action. */
export function toActionAnswer(outcome: Outcome<unknown>): ActionAnswer {
  if (outcome.kind === "ok") return { kind: "done", result: outcome.value ?? null };
  const { meaning, errorId, message } = outcome.fault;
  const reason = errorId === undefined ? {} : { reason: errorId };
  // It is gone, it exists already, or another change is in progress.
  if (meaning === "NotFound" || meaning === "Conflict") return { kind: "conflict", message, ...reason };
  if (meaning === "Invalid") return { kind: "error", code: "Invalid", message, ...reason };
  return { ...toFailure(outcome.fault), ...reason };
}

/** Lists all regions; one page is enough. */
export const REGIONS_PATH = "/v2/regions?per_page=200";

const REGIONS_TEMPLATE = "GET /v2/regions";

/** One page of the list of regions. */
export const RegionsPage = z.object({ regions: z.array(z.object({ slug: z.string() })).min(1) });

/**
 * Returns what is wrong with a region according to the list; undefined if nothing is, or if the body is no
 * list.
 */
export function checkRegionSlug(region: string, body: unknown): string | undefined {
  const slugs = RegionsPage.safeParse(body).data?.regions.map(({ slug }) => slug) ?? [region];
  if (slugs.includes(region)) return undefined;
  const nearest = findNearest(region, slugs);
  return `DigitalOcean has no region ${region}${nearest === undefined ? "" : `; perhaps ${nearest}`}`;
}

/** Checks whether DigitalOcean has the region; a fault of the configuration names its key. */
export async function checkRegion(
  api: Api,
  region: string,
  callContext: CallContext,
): Promise<Outcome<unknown>> {
  const request = { operation: "regions_list", template: REGIONS_TEMPLATE, path: REGIONS_PATH };
  const outcome = await api.get(request, callContext);
  if (outcome.kind === "fault")
    return { kind: "fault", fault: { ...outcome.fault, message: `region: ${outcome.fault.message}` } };
  const message = checkRegionSlug(region, outcome.value);
  return message === undefined
    ? outcome
    : { kind: "fault", fault: { code: "Denied", key: "region", message } };
}
