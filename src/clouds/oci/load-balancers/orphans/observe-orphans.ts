import * as z from "zod";
import type { Api, ApiAnswer, ApiRequest } from "#clouds/http/api.ts";
import type { CallContext } from "#clouds/http/meter.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { formatDisplayName, KINDS } from "#clouds/oci/load-balancers/names.ts";
import { listHoldings } from "#clouds/oci/load-balancers/observe/holdings.ts";
import { observeLoadBalancers } from "#clouds/oci/load-balancers/observe/observe.ts";
import type { ObserveContext, ServiceQuery } from "#clouds/oci/load-balancers/observe/service-query.ts";
import { buildOrphanedService, parseUid } from "#clouds/oci/load-balancers/orphans/model.ts";
import { ORPHANED_TAG, SERVICE_TAG, SERVICE_UID_TAG } from "#clouds/oci/load-balancers/tags.ts";
import { fault, ok, toObservation } from "#clouds/outcome.ts";
import type { Observation } from "#core/capability.ts";
import type { Holding, HoldingsState } from "#core/service/holdings.ts";
import { selectOldestMark } from "#core/service/orphans/mark.ts";

/**
 * Lists possible orphans of a cluster: load balancers with a uid in their name and the tags of cluster and
 * Service, and groups of Services without a load balancer. For the orphan whose deletion is due, it reads all
 * details.
 */
export async function observeOrphans(
  context: ObserveContext,
  at: string,
  prefix: string | undefined,
): Promise<Observation> {
  const listed = await listHoldings(context);
  if (listed.kind === "fault") return toObservation(listed);
  const candidates = listed.value.flatMap(({ isPart, tags, ...holding }): Holding[] => {
    const { [SERVICE_TAG]: service, [ORPHANED_TAG]: mark } = tags;
    const uid = parseUid(holding.name);
    const hasUidOfTag = !isPart || tags[SERVICE_UID_TAG]?.replaceAll("-", "") === uid;
    if (service === undefined || uid === undefined || !hasUidOfTag) return [];
    return [
      { ...holding, service, uid, ...(isPart ? { isPart } : {}), ...(mark === undefined ? {} : { mark }) },
    ];
  });
  const usedUids = new Set(candidates.flatMap(({ isPart, uid }) => (isPart ? [] : uid)));
  const holdings = candidates.filter(({ isPart, uid }) => !isPart || !usedUids.has(uid));
  const oldest = selectOldestMark(holdings, Date.parse(at));
  if (oldest === undefined)
    return { kind: "observed", state: { holdings: [...holdings] } satisfies HoldingsState };
  const [answer] = await observeLoadBalancers([buildServiceQuery(oldest, prefix, context)], ok({}), context);
  if (answer?.kind !== "observed") return answer ?? NO_ANSWER;
  const removable = { id: oldest.id, state: answer.state };
  return { kind: "observed", state: { holdings: [...holdings], removable } satisfies HoldingsState };
}

/**
 * Builds the query for all resources of a deleted Service: by its current names, and by the name of its load
 * balancer.
 */
function buildServiceQuery(
  holding: Holding,
  prefix: string | undefined,
  { managesGroups }: Pick<ObserveContext, "managesGroups">,
): ServiceQuery {
  const { metadata } = buildOrphanedService(holding);
  const getName = (kind: "lb" | "nlb"): string =>
    holding.kind === KINDS[kind] ? holding.name : formatDisplayName(kind, metadata, prefix);
  return {
    ...{ uid: metadata.uid, wanted: false, onlyTargets: false, kinds: ["lb", "nlb"] },
    names: { lb: getName("lb"), nlb: getName("nlb") },
    managesGroup: managesGroups,
    ...{ instances: [], needsIPv6: false, groups: [], backendGroups: [], subnets: [], address: undefined },
  };
}

const NO_ANSWER: Observation = { kind: "error", code: "Unavailable", message: "OCI: no answer" };

const TaggedResource = z.object({ freeformTags: z.record(z.string(), z.string()).nullish() });

/**
 * Writes a mark to the free-form tags of a resource, or removes it without a text. The request replaces all
 * tags with those just read, and has no effect if they changed since.
 */
export async function writeMark(
  api: Api,
  request: ApiRequest,
  text: string | undefined,
  callContext: CallContext,
): Promise<Outcome<ApiAnswer>> {
  const operation = request.operation.replace("Mark", "Get");
  const template = request.template.replace("PUT", "GET");
  const read = await api.send({ operation, template, path: request.path }, callContext);
  if (read.kind === "fault") return read;
  const tagged = TaggedResource.safeParse(read.value.body);
  const { etag } = read.value.headers;
  if (!tagged.success || etag === undefined) return fault("Unavailable", `${template}: no tags, or no etag`);
  const { [ORPHANED_TAG]: _, ...others } = tagged.data.freeformTags ?? {};
  const freeformTags = { ...others, ...(text === undefined ? {} : { [ORPHANED_TAG]: text }) };
  return api.send({ ...request, headers: { "if-match": etag }, body: { freeformTags } }, callContext);
}
