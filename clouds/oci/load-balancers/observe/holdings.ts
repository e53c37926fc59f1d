import type { Outcome } from "#clouds/http/outcome.ts";
import { GROUP, KINDS } from "#clouds/oci/load-balancers/names.ts";
import { listGroups } from "#clouds/oci/load-balancers/observe/network.ts";
import type { Observing } from "#clouds/oci/load-balancers/observe/observe.ts";
import { isOfCluster, SERVICE_TAG } from "#clouds/oci/load-balancers/tags.ts";
import { ok } from "#clouds/outcome.ts";
import type { Holding, HoldingsState } from "#core/service/holdings.ts";

/** Something that is the cluster's by its tags. */
interface Held extends Pick<Holding, "kind" | "id" | "name"> {
  readonly isPart: boolean;
  readonly tags: Readonly<Record<string, string>>;
}

/** Everything that the cluster has for Services, by its tags, whether or not there are such Services. */
export async function observeHoldings(observing: Observing): Promise<Outcome<HoldingsState>> {
  const held = await holdingsOf(observing);
  if (held.kind === "fault") return held;
  const holdings = held.value.flatMap(({ isPart, tags, ...named }): Holding[] => {
    const service = tags[SERVICE_TAG];
    // Groups that annotations may name carry the cluster's tag alone, and are nobody's.
    if (service === undefined) return isPart ? [] : [named];
    return [{ ...named, service }];
  });
  return ok({ holdings });
}

/** The cluster's load balancers and groups, with their tags; what cannot be listed to its end is a fault. */
export async function holdingsOf({
  cluster,
  compartments,
  vcn,
  reads,
  managesGroups,
}: Observing): Promise<Outcome<readonly Held[]>> {
  const held: Held[] = [];
  for (const compartment of compartments) {
    for (const kind of ["lb", "nlb"] as const) {
      const listed = await reads.balancers(kind, compartment);
      if (listed.kind === "fault") return listed;
      held.push(...listed.value.flatMap((each) => heldAs(KINDS[kind], each, cluster)));
    }
  }
  const groups = await listGroups({ compartments, vcn, reads }, { isRequired: managesGroups });
  if (groups.kind === "fault") return groups;
  held.push(...groups.value.flatMap((each) => heldAs(GROUP, each, cluster)));
  return ok(held);
}

interface Listed {
  readonly id: string;
  readonly displayName?: string | null | undefined;
  readonly lifecycleState: string;
  readonly freeformTags?: Readonly<Record<string, string>> | null | undefined;
}

function heldAs(kind: string, { id, displayName, lifecycleState, freeformTags }: Listed, cluster: string) {
  const tags = freeformTags ?? {};
  if (ENDED.has(lifecycleState) || !isOfCluster(tags, cluster)) return [];
  return [{ kind, id, name: displayName ?? "", isPart: kind === GROUP, tags }];
}

const ENDED: ReadonlySet<string> = new Set(["DELETED", "TERMINATED"]);
