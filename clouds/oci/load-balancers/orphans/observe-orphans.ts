import { observationOf } from "#clouds/observation.ts";
import { displayNameOf, KINDS } from "#clouds/oci/load-balancers/names.ts";
import { holdingsOf } from "#clouds/oci/load-balancers/observe/holdings.ts";
import { type Observing, observeLoadBalancers } from "#clouds/oci/load-balancers/observe/observe.ts";
import type { Sought } from "#clouds/oci/load-balancers/observe/sought.ts";
import { orphanedService, uidInName } from "#clouds/oci/load-balancers/orphans/orphaned-service.ts";
import { ORPHANED_TAG, SERVICE_TAG, SERVICE_UID_TAG } from "#clouds/oci/load-balancers/tags.ts";
import { ok } from "#clouds/outcome.ts";
import type { Observation } from "#core/capability.ts";
import type { Holding, HoldingsState } from "#core/service/holdings.ts";
import { inTurn } from "#core/service/orphans/mark.ts";

/**
 * What of a cluster's load balancers could be orphaned: those that are called after a uid and carry the tags of cluster and Service, and the
 * groups of Services of which no load balancer is there; with all there is of the one whose turn it is.
 */
export async function observeOrphans(
  observing: Observing,
  at: string,
  prefix: string | undefined,
): Promise<Observation> {
  const listed = await holdingsOf(observing);
  if (listed.kind === "fault") return observationOf(listed);
  const named = listed.value.flatMap(({ isPart, tags, ...holding }): Holding[] => {
    const { [SERVICE_TAG]: service, [ORPHANED_TAG]: mark } = tags;
    const uid = uidInName(holding.name);
    const isCalledSo = !isPart || tags[SERVICE_UID_TAG]?.replaceAll("-", "") === uid;
    if (service === undefined || uid === undefined || !isCalledSo) return [];
    return [
      { ...holding, service, uid, ...(isPart ? { isPart } : {}), ...(mark === undefined ? {} : { mark }) },
    ];
  });
  const inUse = new Set(named.flatMap(({ isPart, uid }) => (isPart ? [] : uid)));
  const holdings = named.filter(({ isPart, uid }) => !isPart || !inUse.has(uid));
  const candidate = inTurn(holdings, Date.parse(at));
  if (candidate === undefined)
    return { kind: "observed", state: { holdings: [...holdings] } satisfies HoldingsState };
  const [answer] = await observeLoadBalancers([soughtFor(candidate, prefix, observing)], ok({}), observing);
  if (answer?.kind !== "observed") return answer ?? NOTHING_SAID;
  const removable = { id: candidate.id, state: answer.state };
  return { kind: "observed", state: { holdings: [...holdings], removable } satisfies HoldingsState };
}

/** All that there may be of a Service that has gone, by the names that it would have now, and by the one that its load balancer has. */
function soughtFor(
  holding: Holding,
  prefix: string | undefined,
  { managesGroups }: Pick<Observing, "managesGroups">,
): Sought {
  const { metadata } = orphanedService(holding);
  const nameOf = (kind: "lb" | "nlb"): string =>
    holding.kind === KINDS[kind] ? holding.name : displayNameOf(kind, metadata, prefix);
  return {
    ...{ uid: metadata.uid, wanted: false, onlyTargets: false, kinds: ["lb", "nlb"] },
    names: { lb: nameOf("lb"), nlb: nameOf("nlb") },
    managesGroup: managesGroups,
    ...{ instances: [], needsIPv6: false, groups: [], backendGroups: [], subnets: [], address: undefined },
  };
}

const NOTHING_SAID: Observation = { kind: "error", code: "Unavailable", message: "OCI: no answer" };
