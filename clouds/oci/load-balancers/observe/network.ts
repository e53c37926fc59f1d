import type { Outcome } from "#clouds/http/outcome.ts";
import type { Observing } from "#clouds/oci/load-balancers/observe/observe.ts";
import type { Sought } from "#clouds/oci/load-balancers/observe/sought.ts";
import { backendGroupsOf } from "#clouds/oci/load-balancers/security.ts";
import type { Group, OciState, SeenBalancer, SeenGroup } from "#clouds/oci/load-balancers/state.ts";
import { isOfCluster } from "#clouds/oci/load-balancers/tags.ts";
import { isDenied } from "#clouds/oci/read-error.ts";
import { ok } from "#clouds/outcome.ts";

/** What there is in the network for a Service: its groups with their rules, and what it names. */
export async function lookAtNetwork(
  sought: Sought,
  found: readonly SeenBalancer[],
  observing: Observing,
): Promise<Outcome<Pick<OciState, "groups" | "named" | "subnets" | "publicIp">>> {
  const { reads } = observing;
  const isMade = found.length > 0;
  const { managesGroup } = sought;
  const listed =
    managesGroup || !sought.wanted || found.some((each) => mayHaveHadGroup(each, sought))
      ? await listGroups(observing, { isRequired: managesGroup })
      : ok([]);
  if (listed.kind === "fault") return listed;
  const own = listed.value.filter(({ displayName }) => displayName === sought.uid);
  const groups: SeenGroup[] = [];
  for (const group of own) {
    const seen = await withRules(group, true, observing);
    if (seen.kind === "fault") return seen;
    groups.push(seen.value);
  }
  const ofRules = groups.flatMap(backendGroupsOf);
  const withTheirRules = new Set([...sought.backendGroups, ...ofRules]);
  const named: Record<string, SeenGroup | null> = {};
  for (const id of new Set([...sought.groups, ...withTheirRules])) {
    const known = listed.value.find((group) => group.id === id);
    const read = known === undefined ? await reads.group(id) : ok(known);
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
  // A load balancer stays in the subnets that it was made in.
  for (const id of isMade ? [] : sought.subnets) {
    const read = await reads.subnet(id);
    if (read.kind === "fault") return read;
    subnets[id] = read.value ?? null;
  }
  if (isMade || sought.address === undefined) return ok({ groups, named, subnets });
  const publicIp = await reads.publicIp(sought.address);
  return publicIp.kind === "fault"
    ? publicIp
    : ok({ groups, named, subnets, publicIp: publicIp.value ?? null });
}

/** Whether a load balancer shows that its Service had a managed group: one is attached that no annotation names, or groups were changed. */
function mayHaveHadGroup(
  { balancer: { networkSecurityGroupIds }, changedGroups }: SeenBalancer,
  { groups }: Sought,
): boolean {
  return changedGroups === true || (networkSecurityGroupIds ?? []).some((id) => !groups.includes(id));
}

/**
 * Lists the groups of the VCN in all compartments. Where they are not required, a compartment whose groups may not be listed counts as
 * one without groups: a cluster that has never managed any needs no permission for them.
 */
export async function listGroups(
  { compartments, vcn, reads }: Pick<Observing, "compartments" | "vcn" | "reads">,
  { isRequired }: { readonly isRequired: boolean },
): Promise<Outcome<readonly Group[]>> {
  const all: Group[] = [];
  for (const compartment of vcn === undefined ? [] : compartments) {
    const listed = await reads.groups(compartment, vcn ?? "");
    if (listed.kind === "fault" && !isRequired && isDenied(listed.fault)) continue;
    if (listed.kind === "fault") return listed;
    all.push(...listed.value.filter(({ lifecycleState }) => lifecycleState !== "TERMINATED"));
  }
  return ok(all);
}

/** Of groups of others no rules are looked at: none of ours can be in them. */
async function withRules(
  group: Group,
  isWanted: boolean,
  { reads, cluster }: Observing,
): Promise<Outcome<SeenGroup>> {
  if (!isWanted || !isOfCluster(group.freeformTags ?? undefined, cluster)) return ok({ group, rules: [] });
  const rules = await reads.rules(group.id);
  return rules.kind === "fault" ? rules : ok({ group, rules: rules.value });
}
