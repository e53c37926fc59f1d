import type { Outcome } from "#clouds/http/outcome.ts";
import type { ObserveContext, ServiceQuery } from "#clouds/oci/load-balancers/observe/service-query.ts";
import { listBackendGroups } from "#clouds/oci/load-balancers/security.ts";
import type { Group, ObservedBalancer, ObservedGroup, OciState } from "#clouds/oci/load-balancers/state.ts";
import { isOfCluster } from "#clouds/oci/load-balancers/tags.ts";
import { isDenied } from "#clouds/oci/read-error.ts";
import { ok } from "#clouds/outcome.ts";

/** Reads the network resources of a Service: its groups with their rules, and the resources that it names. */
export async function observeNetwork(
  sought: ServiceQuery,
  found: readonly ObservedBalancer[],
  observing: ObserveContext,
): Promise<Outcome<Pick<OciState, "groups" | "named" | "subnets" | "publicIp">>> {
  const { reads } = observing;
  const isMade = found.length > 0;
  const { managesGroup } = sought;
  const listed =
    managesGroup || !sought.wanted || found.some((each) => couldHaveHadGroup(each, sought))
      ? await listGroups(observing, { isRequired: managesGroup })
      : ok([]);
  if (listed.kind === "fault") return listed;
  const own = listed.value.filter(({ displayName }) => displayName === sought.uid);
  const groups: ObservedGroup[] = [];
  for (const group of own) {
    const seen = await withRules(group, true, observing);
    if (seen.kind === "fault") return seen;
    groups.push(seen.value);
  }
  const ofRules = groups.flatMap(listBackendGroups);
  const withTheirRules = new Set([...sought.backendGroups, ...ofRules]);
  const named: Record<string, ObservedGroup | null> = {};
  for (const id of new Set([...sought.groups, ...withTheirRules])) {
    const known = listed.value.find((group) => group.id === id);
    const read = known === undefined ? await reads.readGroup(id) : ok(known);
    if (read.kind === "fault") return read;
    if (read.value === undefined) {
      named[id] = null;
      continue;
    }
    const seen = await withRules(read.value, withTheirRules.has(id), observing);
    if (seen.kind === "fault") return seen;
    named[id] = seen.value;
  }
  const subnets: Record<string, OciState["subnets"][string]> = {};
  // A load balancer keeps the subnets of its creation.
  for (const id of isMade ? [] : sought.subnets) {
    const read = await reads.readSubnet(id);
    if (read.kind === "fault") return read;
    subnets[id] = read.value ?? null;
  }
  if (isMade || sought.address === undefined) return ok({ groups, named, subnets });
  const publicIp = await reads.readPublicIp(sought.address);
  return publicIp.kind === "fault"
    ? publicIp
    : ok({ groups, named, subnets, publicIp: publicIp.value ?? null });
}

/**
 * Whether a load balancer shows that its Service had a managed group: it has one that no annotation names, or
 * groups were changed.
 */
function couldHaveHadGroup(
  { balancer: { networkSecurityGroupIds }, changedGroups }: ObservedBalancer,
  { groups }: ServiceQuery,
): boolean {
  return changedGroups === true || (networkSecurityGroupIds ?? []).some((id) => !groups.includes(id));
}

/**
 * Lists the groups of the VCN in all compartments. If they are optional, a compartment whose groups cannot be
 * listed counts as one without groups. A cluster that never managed groups needs no permission for them.
 */
export async function listGroups(
  { compartments, vcn, reads }: Pick<ObserveContext, "compartments" | "vcn" | "reads">,
  { isRequired }: { readonly isRequired: boolean },
): Promise<Outcome<readonly Group[]>> {
  const all: Group[] = [];
  for (const compartment of vcn === undefined ? [] : compartments) {
    const listed = await reads.listGroups(compartment, vcn ?? "");
    if (listed.kind === "fault" && !isRequired && isDenied(listed.fault)) continue;
    if (listed.kind === "fault") return listed;
    all.push(...listed.value.filter(({ lifecycleState }) => lifecycleState !== "TERMINATED"));
  }
  return ok(all);
}

/** Rules of foreign groups are not read: they cannot hold ours. */
async function withRules(
  group: Group,
  isWanted: boolean,
  { reads, cluster }: ObserveContext,
): Promise<Outcome<ObservedGroup>> {
  if (!isWanted || !isOfCluster(group.freeformTags ?? undefined, cluster)) return ok({ group, rules: [] });
  const rules = await reads.listRules(group.id);
  return rules.kind === "fault" ? rules : ok({ group, rules: rules.value });
}
