import type { Outcome } from "#clouds/http/outcome.ts";
import type { Observing } from "#clouds/oci/load-balancers/observe/observe.ts";
import { isOfCluster, SERVICE_TAG } from "#clouds/oci/load-balancers/tags.ts";
import { ok } from "#clouds/outcome.ts";
import type { Holding, HoldingsState } from "#core/service/holdings.ts";

const KINDS = { lb: "load balancer", nlb: "network load balancer" } as const;

/** Everything that the cluster has for Services, by its tags, whether or not there are such Services. */
export async function observeHoldings({
  cluster,
  compartments,
  vcn,
  reads,
}: Observing): Promise<Outcome<HoldingsState>> {
  const holdings: Holding[] = [];
  for (const compartment of compartments) {
    for (const kind of ["lb", "nlb"] as const) {
      const listed = await reads.balancers(kind, compartment);
      if (listed.kind === "fault") return listed;
      for (const { id, displayName, lifecycleState, freeformTags } of listed.value)
        if (isOfCluster(freeformTags ?? undefined, cluster) && !ENDED.has(lifecycleState))
          holdings.push({ kind: KINDS[kind], id, name: displayName, ...serviceOf(freeformTags) });
    }
    const groups = vcn === undefined ? ok([]) : await reads.groups(compartment, vcn);
    if (groups.kind === "fault") return groups;
    for (const { id, displayName, lifecycleState, freeformTags } of groups.value)
      if (
        freeformTags?.[SERVICE_TAG] !== undefined &&
        isOfCluster(freeformTags, cluster) &&
        !ENDED.has(lifecycleState)
      )
        holdings.push({
          kind: "network security group",
          id,
          name: displayName ?? "",
          ...serviceOf(freeformTags),
        });
  }
  return ok({ holdings });
}

const ENDED: ReadonlySet<string> = new Set(["DELETED", "TERMINATED"]);

function serviceOf(tags: Readonly<Record<string, string>> | null | undefined): { readonly service?: string } {
  const service = tags?.[SERVICE_TAG];
  return service === undefined ? {} : { service };
}
