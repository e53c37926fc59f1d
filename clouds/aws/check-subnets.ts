import type { AllowedResources, ClusterIdentity } from "#clouds/aws/load-balancers/ownership.ts";
import type { SubnetState, VpcState } from "#clouds/aws/load-balancers/state.ts";
import { chooseSubnets } from "#clouds/aws/load-balancers/vpc/choose-subnets.ts";
import { planNodeRules } from "#clouds/aws/load-balancers/vpc/node-rules.ts";
import { type CheckResult, reportFailure, reportOk, reportWarning } from "#core/check-result.ts";

/** Criteria by which subnets are checked. */
export interface SubnetCheckOptions {
  readonly vpc: string;
  readonly clusterTag: string;
  readonly fallbackId: string | undefined;
  readonly allow: AllowedResources;
  readonly isVpcConfigured: boolean;
}

/**
 * Reports the subnets that internet-facing and internal load balancers would use, by the same selection as
 * the functions.
 */
export function checkSubnets(subnets: readonly SubnetState[], options: SubnetCheckOptions): CheckResult {
  const { vpc, clusterTag, isVpcConfigured } = options;
  const state: VpcState = { id: vpc, subnets, groups: [], instances: {} };
  const listChosen = (internal: boolean): readonly string[] => {
    const choice = chooseSubnets(
      { ...options, named: undefined, internal, dualStack: false, attachedIds: [] },
      state,
    );
    return choice.kind === "ready"
      ? choice.value.map(({ subnet }) => `${subnet.SubnetId} (${subnet.AvailabilityZone})`)
      : [];
  };
  const [internetFacing, internal] = [listChosen(false), listChosen(true)];
  const summary = `internet-facing in ${formatList(internetFacing)}; internal in ${formatList(internal)}`;
  const tag = `tag them kubernetes.io/cluster/${clusterTag}${isVpcConfigured ? ", or for no cluster at all" : ", or list them in cloud.allow.subnets"}`;
  if (internal.length === 0) return reportFailure(summary, `no subnet of ${vpc} may be used: ${tag}`);
  if (internetFacing.length === 0)
    return reportWarning(
      summary,
      `for internet-facing ones a subnet needs a route to an internet gateway; ${tag}`,
    );
  const ambiguousZones = listAmbiguousZones(subnets);
  if (ambiguousZones.length === 0) return reportOk(summary);
  return reportWarning(
    `${summary}; several subnets of ${ambiguousZones.join(", ")} have the same role's tag, and the lowest id is taken`,
    "tag one subnet of each zone kubernetes.io/role/elb, and one kubernetes.io/role/internal-elb",
  );
}

const ROLES = ["kubernetes.io/role/elb", "kubernetes.io/role/internal-elb"];

/** Zones in which the role tag, or its absence, leaves more than one subnet to choose from. */
function listAmbiguousZones(subnets: readonly SubnetState[]): readonly string[] {
  const zones = Map.groupBy(subnets, ({ subnet }) => subnet.AvailabilityZone ?? "");
  return [...zones].flatMap(([zone, subnetsOfZone]) => {
    const counts = ROLES.map((role) => subnetsOfZone.filter(({ tags }) => tags[role] !== undefined).length);
    return counts.some((count) => count > 1) ||
      (subnetsOfZone.length > 1 && counts.every((count) => count === 0))
      ? [zone]
      : [];
  });
}

/**
 * Checks for each instance that exactly one security group can be identified as the cluster's, and is proven
 * to be.
 */
export function checkNodeGroups(
  vpc: VpcState,
  identity: ClusterIdentity,
  isTagConfigured: boolean,
): CheckResult {
  const instanceIds = Object.keys(vpc.instances);
  const desiredRules = {
    ...identity,
    disabled: false,
    instanceIds,
    openings: [],
    ownRules: { descriptions: [], groupIds: [] },
  };
  const plan = planNodeRules(desiredRules, vpc);
  const issues = plan.kind === "ready" ? plan.value : [];
  if (instanceIds.length === 0)
    return reportWarning("the cluster has no instance to check", "run doctor again with a node");
  const summary = `one security group of each of ${instanceIds.length} ${instanceIds.length === 1 ? "instance" : "instances"}`;
  if (issues.length === 0 && isTagConfigured) return reportOk(summary);
  if (issues.length === 0)
    return reportWarning(
      `${summary}; without clusterTag every instance of the VPC that carries no cluster's tag counts as the cluster's`,
      `tag the cluster's instances kubernetes.io/cluster/${identity.clusterTag}, and set cloud.clusterTag: ${identity.clusterTag}`,
    );
  return reportFailure(
    issues.map(({ code, detail }) => `${code}: ${detail}`).join("; "),
    issues.map(({ allowed }) => allowed).join("; "),
  );
}

function formatList(names: readonly string[]): string {
  return names.length === 0 ? "none" : names.join(", ");
}
