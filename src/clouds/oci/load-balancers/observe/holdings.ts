import type { Outcome } from "#clouds/http/outcome.ts";
import { GROUP, KINDS } from "#clouds/oci/load-balancers/names.ts";
import { listGroups } from "#clouds/oci/load-balancers/observe/network.ts";
import type { ObserveContext } from "#clouds/oci/load-balancers/observe/service-query.ts";
import { isOfCluster, SERVICE_TAG } from "#clouds/oci/load-balancers/tags.ts";
import { ok } from "#clouds/outcome.ts";
import type { Holding, HoldingsState } from "#core/service/holdings.ts";

/** A resource that belongs to the cluster by its tags. */
interface HeldResource extends Pick<Holding, "kind" | "id" | "name"> {
  readonly isPart: boolean;
  readonly tags: Readonly<Record<string, string>>;
}

/** Lists all resources of the cluster for Services by their tags, whether or not these Services exist. */
export async function observeHoldings(context: ObserveContext): Promise<Outcome<HoldingsState>> {
  const listed = await listHoldings(context);
  if (listed.kind === "fault") return listed;
  const holdings = listed.value.flatMap(({ isPart, tags, ...holding }): Holding[] => {
    const service = tags[SERVICE_TAG];
    // Groups for annotations carry only the cluster's tag and belong to no Service.
    if (service === undefined) return isPart ? [] : [holding];
    return [{ ...holding, service }];
  });
  return ok({ holdings });
}

/** Lists the cluster's load balancers and groups with their tags; an incomplete list is a fault. */
export async function listHoldings({
  cluster,
  compartments,
  vcn,
  reads,
  managesGroups,
}: ObserveContext): Promise<Outcome<readonly HeldResource[]>> {
  const held: HeldResource[] = [];
  for (const compartment of compartments) {
    for (const kind of ["lb", "nlb"] as const) {
      const listed = await reads.listBalancers(kind, compartment);
      if (listed.kind === "fault") return listed;
      held.push(...listed.value.flatMap((each) => toHeldResource(KINDS[kind], each, cluster)));
    }
  }
  const groups = await listGroups({ compartments, vcn, reads }, { isRequired: managesGroups });
  if (groups.kind === "fault") return groups;
  held.push(...groups.value.flatMap((each) => toHeldResource(GROUP, each, cluster)));
  return ok(held);
}

interface ListedResource {
  readonly id: string;
  readonly displayName?: string | null | undefined;
  readonly lifecycleState: string;
  readonly freeformTags?: Readonly<Record<string, string>> | null | undefined;
}

function toHeldResource(
  kind: string,
  { id, displayName, lifecycleState, freeformTags }: ListedResource,
  cluster: string,
) {
  const tags = freeformTags ?? {};
  if (ENDED.has(lifecycleState) || !isOfCluster(tags, cluster)) return [];
  return [{ kind, id, name: displayName ?? "", isPart: kind === GROUP, tags }];
}

const ENDED: ReadonlySet<string> = new Set(["DELETED", "TERMINATED"]);
