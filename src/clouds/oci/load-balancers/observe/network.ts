import type { Outcome } from "#clouds/http/outcome.ts";
import type { ObserveContext, ServiceQuery } from "#clouds/oci/load-balancers/observe/service-query.ts";
import { listBackendGroups } from "#clouds/oci/load-balancers/security.ts";
import type { Group, ObservedBalancer, ObservedGroup, OciState } from "#clouds/oci/load-balancers/state.ts";
import { isOfCluster } from "#clouds/oci/load-balancers/tags.ts";
import { isDenied } from "#clouds/oci/read-error.ts";
import { ok } from "#clouds/outcome.ts";

/** Reads the network resources of a Service: its groups with their rules, and the resources that it names. */
export async function observeNetwork(
  query: ServiceQuery,
  found: readonly ObservedBalancer[],
  context: ObserveContext,
): Promise<Outcome<Pick<OciState, "groups" | "named" | "subnets" | "publicIp">>> {
  const { reads } = context;
  const hasLoadBalancer = found.length > 0;
  const { managesGroup } = query;
  const listed =
    managesGroup || !query.wanted || found.some((each) => mayHaveHadGroup(each, query))
      ? await listGroups(context, { isRequired: managesGroup })
      : ok([]);
  if (listed.kind === "fault") return listed;
  const ownGroups = listed.value.filter(({ displayName }) => displayName === query.uid);
  const groups: ObservedGroup[] = [];
  for (const group of ownGroups) {
    const observed = await readRules(group, true, context);
    if (observed.kind === "fault") return observed;
    groups.push(observed.value);
  }
  const backendGroups = groups.flatMap(listBackendGroups);
  const idsWithRules = new Set([...query.backendGroups, ...backendGroups]);
  const named: Record<string, ObservedGroup | null> = {};
  for (const id of new Set([...query.groups, ...idsWithRules])) {
    const listedGroup = listed.value.find((group) => group.id === id);
    const read = listedGroup === undefined ? await reads.readGroup(id) : ok(listedGroup);
    if (read.kind === "fault") return read;
    if (read.value === undefined) {
      named[id] = null;
      continue;
    }
    const observed = await readRules(read.value, idsWithRules.has(id), context);
    if (observed.kind === "fault") return observed;
    named[id] = observed.value;
  }
  const subnets: Record<string, OciState["subnets"][string]> = {};
  // A load balancer keeps the subnets of its creation.
  for (const id of hasLoadBalancer ? [] : query.subnets) {
    const read = await reads.readSubnet(id);
    if (read.kind === "fault") return read;
    subnets[id] = read.value ?? null;
  }
  if (hasLoadBalancer || query.address === undefined) return ok({ groups, named, subnets });
  const publicIp = await reads.readPublicIp(query.address);
  return publicIp.kind === "fault"
    ? publicIp
    : ok({ groups, named, subnets, publicIp: publicIp.value ?? null });
}

/**
 * Whether a load balancer shows that its Service had a managed group: it has one that no annotation names, or
 * groups were changed.
 */
function mayHaveHadGroup(
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
async function readRules(
  group: Group,
  needsRules: boolean,
  { reads, cluster }: ObserveContext,
): Promise<Outcome<ObservedGroup>> {
  if (!needsRules || !isOfCluster(group.freeformTags ?? undefined, cluster)) return ok({ group, rules: [] });
  const rules = await reads.listRules(group.id);
  return rules.kind === "fault" ? rules : ok({ group, rules: rules.value });
}
