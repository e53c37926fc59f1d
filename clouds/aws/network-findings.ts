import type { AllowedResources, ClusterIdentity } from "#clouds/aws/load-balancers/ownership.ts";
import type { SubnetState, VpcState } from "#clouds/aws/load-balancers/state.ts";
import { chooseSubnets } from "#clouds/aws/load-balancers/vpc/choose-subnets.ts";
import { planNodeRules } from "#clouds/aws/load-balancers/vpc/node-rules.ts";
import { type Finding, failed, ok, warning } from "#core/finding.ts";

/** What subnets are judged by. */
export interface JudgedSubnets {
  readonly vpc: string;
  readonly clusterTag: string;
  readonly fallbackId: string | undefined;
  readonly allow: AllowedResources;
  readonly isVpcConfigured: boolean;
}

/** Which subnets load balancers would be put in, internet-facing and internal ones, by the same choice. */
export function subnetsFinding(subnets: readonly SubnetState[], judged: JudgedSubnets): Finding {
  const { vpc, clusterTag, isVpcConfigured } = judged;
  const state: VpcState = { id: vpc, subnets, groups: [], instances: {} };
  const chosen = (internal: boolean): readonly string[] => {
    const piece = chooseSubnets(
      { ...judged, named: undefined, internal, dualStack: false, attachedIds: [] },
      state,
    );
    return piece.kind === "ready"
      ? piece.value.map(({ subnet }) => `${subnet.SubnetId} (${subnet.AvailabilityZone})`)
      : [];
  };
  const [facing, internal] = [chosen(false), chosen(true)];
  const words = `internet-facing in ${listed(facing)}; internal in ${listed(internal)}`;
  const tag = `tag them kubernetes.io/cluster/${clusterTag}${isVpcConfigured ? ", or for no cluster at all" : ", or list them in cloud.allow.subnets"}`;
  if (internal.length === 0) return failed(words, `no subnet of ${vpc} may be used: ${tag}`);
  if (facing.length === 0)
    return warning(words, `for internet-facing ones a subnet needs a route to an internet gateway; ${tag}`);
  const twice = ambiguousZones(subnets);
  if (twice.length === 0) return ok(words);
  return warning(
    `${words}; several subnets of ${twice.join(", ")} have the same role's tag, and the lowest id is taken`,
    "tag one subnet of each zone kubernetes.io/role/elb, and one kubernetes.io/role/internal-elb",
  );
}

const ROLES = ["kubernetes.io/role/elb", "kubernetes.io/role/internal-elb"];

/** Zones where the tag of a role, or none at all, leaves a choice. */
function ambiguousZones(subnets: readonly SubnetState[]): readonly string[] {
  const zones = Map.groupBy(subnets, ({ subnet }) => subnet.AvailabilityZone ?? "");
  return [...zones].flatMap(([zone, of]) => {
    const counts = ROLES.map((role) => of.filter(({ tags }) => tags[role] !== undefined).length);
    return counts.some((count) => count > 1) || (of.length > 1 && counts.every((count) => count === 0))
      ? [zone]
      : [];
  });
}

/** Whether of each instance one security group alone can be told to be the cluster's, and is proven to be. */
export function nodeGroupsFinding(
  vpc: VpcState,
  identity: ClusterIdentity,
  isTagConfigured: boolean,
): Finding {
  const instanceIds = Object.keys(vpc.instances);
  const wanted = {
    ...identity,
    disabled: false,
    instanceIds,
    openings: [],
    mine: { descriptions: [], groupIds: [] },
  };
  const plan = planNodeRules(wanted, vpc);
  const problems = plan.kind === "ready" ? plan.value : [];
  if (instanceIds.length === 0)
    return warning("no instance of the cluster to look at", "run doctor again with a node");
  const words = `one of each of ${instanceIds.length} ${instanceIds.length === 1 ? "instance" : "instances"}`;
  if (problems.length === 0 && isTagConfigured) return ok(words);
  if (problems.length === 0)
    return warning(
      `${words}; without clusterTag every instance of the VPC that carries no cluster's tag counts as the cluster's`,
      `tag the cluster's instances kubernetes.io/cluster/${identity.clusterTag}, and set cloud.clusterTag: ${identity.clusterTag}`,
    );
  return failed(
    problems.map(({ code, detail }) => `${code}: ${detail}`).join("; "),
    problems.map(({ allowed }) => allowed).join("; "),
  );
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? "none" : names.join(", ");
}
