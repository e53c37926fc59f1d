import { toObservation } from "#clouds/observation.ts";
import { formatDisplayName, KINDS } from "#clouds/oci/load-balancers/names.ts";
import { listHoldings } from "#clouds/oci/load-balancers/observe/holdings.ts";
import { observeLoadBalancers } from "#clouds/oci/load-balancers/observe/observe.ts";
import type { ObserveContext, ServiceQuery } from "#clouds/oci/load-balancers/observe/service-query.ts";
import { buildOrphanedService, parseUid } from "#clouds/oci/load-balancers/orphans/orphaned-service.ts";
import { ORPHANED_TAG, SERVICE_TAG, SERVICE_UID_TAG } from "#clouds/oci/load-balancers/tags.ts";
import { ok } from "#clouds/outcome.ts";
import type { Observation } from "#core/capability.ts";
import type { Holding, HoldingsState } from "#core/service/holdings.ts";
import { selectOldestMark } from "#core/service/orphans/mark.ts";

/**
 * Lists possible orphans of a cluster: load balancers with a uid in their name and the tags of cluster and
 * Service, and groups of Services without a load balancer. For the orphan whose deletion is due, it reads all
 * details.
 */
export async function observeOrphans(
  observing: ObserveContext,
  at: string,
  prefix: string | undefined,
): Promise<Observation> {
  const listed = await listHoldings(observing);
  if (listed.kind === "fault") return toObservation(listed);
  const named = listed.value.flatMap(({ isPart, tags, ...holding }): Holding[] => {
    const { [SERVICE_TAG]: service, [ORPHANED_TAG]: mark } = tags;
    const uid = parseUid(holding.name);
    const isCalledSo = !isPart || tags[SERVICE_UID_TAG]?.replaceAll("-", "") === uid;
    if (service === undefined || uid === undefined || !isCalledSo) return [];
    return [
      { ...holding, service, uid, ...(isPart ? { isPart } : {}), ...(mark === undefined ? {} : { mark }) },
    ];
  });
  const inUse = new Set(named.flatMap(({ isPart, uid }) => (isPart ? [] : uid)));
  const holdings = named.filter(({ isPart, uid }) => !isPart || !inUse.has(uid));
  const candidate = selectOldestMark(holdings, Date.parse(at));
  if (candidate === undefined)
    return { kind: "observed", state: { holdings: [...holdings] } satisfies HoldingsState };
  const [answer] = await observeLoadBalancers(
    [buildServiceQuery(candidate, prefix, observing)],
    ok({}),
    observing,
  );
  if (answer?.kind !== "observed") return answer ?? NOTHING_SAID;
  const removable = { id: candidate.id, state: answer.state };
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
  const nameOf = (kind: "lb" | "nlb"): string =>
    holding.kind === KINDS[kind] ? holding.name : formatDisplayName(kind, metadata, prefix);
  return {
    ...{ uid: metadata.uid, wanted: false, onlyTargets: false, kinds: ["lb", "nlb"] },
    names: { lb: nameOf("lb"), nlb: nameOf("nlb") },
    managesGroup: managesGroups,
    ...{ instances: [], needsIPv6: false, groups: [], backendGroups: [], subnets: [], address: undefined },
  };
}

const NOTHING_SAID: Observation = { kind: "error", code: "Unavailable", message: "OCI: no answer" };
