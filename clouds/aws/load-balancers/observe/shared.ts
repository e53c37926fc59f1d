import type { LoadBalancerDescription } from "@aws-sdk/client-elastic-load-balancing";
import type { LoadBalancer, TargetGroup } from "@aws-sdk/client-elastic-load-balancing-v2";
import type { AwsCluster } from "#clouds/aws/belonging.ts";
import type { Outcome } from "#clouds/aws/errors.ts";
import { allowedOf } from "#clouds/aws/load-balancers/configuration.ts";
import { addressesOf } from "#clouds/aws/load-balancers/observe/addresses.ts";
import type { BalancerLists } from "#clouds/aws/load-balancers/observe/all-load-balancers.ts";
import { type ByName, classicByName, networkByName } from "#clouds/aws/load-balancers/observe/by-name.ts";
import { gathered } from "#clouds/aws/load-balancers/observe/gathered.ts";
import { type TargetInstances, targetInstances } from "#clouds/aws/load-balancers/observe/instances.ts";
import type { AskedGroups, NodeGroupProofs } from "#clouds/aws/load-balancers/observe/node-groups.ts";
import type { Sought } from "#clouds/aws/load-balancers/observe/question.ts";
import type { Reader } from "#clouds/aws/load-balancers/observe/reads.ts";
import { classicTags, networkTags, type TagsOf } from "#clouds/aws/load-balancers/observe/tags.ts";
import { groupsOf, subnetsOf } from "#clouds/aws/load-balancers/observe/vpc.ts";
import type { ZoneTypes } from "#clouds/aws/load-balancers/observe/zone-types.ts";
import { type ClusterIdentity, isMadeForCluster } from "#clouds/aws/load-balancers/ownership.ts";
import type {
  AddressState,
  Pairs,
  SecurityGroupState,
  SubnetState,
  VpcState,
} from "#clouds/aws/load-balancers/state.ts";
import { CLIENT_RULE, HEALTH_RULE } from "#clouds/aws/load-balancers/vpc/node-rules.ts";
import { ok } from "#clouds/outcome.ts";

/** What an observation takes beyond its questions. */
export interface Observing {
  readonly cluster: AwsCluster;
  readonly read: Reader;
  readonly zoneTypes: ZoneTypes;
  readonly nodeGroups: NodeGroupProofs;
  readonly lists: BalancerLists;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
}

/** What was asked for all Services together. */
export interface Shared {
  readonly networks: ByName<LoadBalancer>;
  readonly classics: ByName<LoadBalancerDescription>;
  readonly targetGroups: Outcome<readonly TargetGroup[]>;
  readonly networkTags: TagsOf;
  readonly classicTags: TagsOf;
  /** Elastic IP addresses that any of them names. */
  readonly addresses: Outcome<Readonly<Record<string, AddressState>>>;
  readonly vpc: Outcome<VpcState>;
  /** The same without what targets and new load balancers take. */
  readonly vpcOfLeaving: Outcome<VpcState>;
}

/** Asks for it. */
export async function lookAtShared(sought: readonly Sought[], observing: Observing): Promise<Shared> {
  const { cluster, read } = observing;
  const instances = targetInstances(
    sought.flatMap(({ instanceIds }) => instanceIds),
    cluster,
    read,
  );
  const asked = lookAtNamed(sought, observing);
  const [named, addresses, vpcs] = await Promise.all([
    asked,
    addressesOf(
      sought.flatMap(({ allocationIds }) => allocationIds),
      read,
    ),
    lookAtVpc(sought, instances, asked, observing),
  ]);
  return { ...named, addresses, ...vpcs };
}

/** Load balancers by their names, and target groups, with their tags. */
type Named = Pick<Shared, "networks" | "classics" | "targetGroups" | "networkTags" | "classicTags">;

async function lookAtNamed(sought: readonly Sought[], { read, lists }: Observing): Promise<Named> {
  const names = [...new Set(sought.map(({ name }) => name))];
  const looking = { read, lists, isNew: sought.some(({ isNew }) => isNew) };
  const [networks, classics, targetGroups] = await Promise.all([
    networkByName(names, looking),
    classicByName(names, looking),
    lists.targetGroups(read),
  ]);
  const [ofNetworks, ofClassics] = await Promise.all([
    networkTags(
      [...arnsOf(networks), ...candidatesOf(sought, networks, targetGroups).map(arnOf)].filter(
        (arn) => arn !== "",
      ),
      read,
    ),
    classicTags(
      [...classics].flatMap(([name, found]) =>
        found.kind === "ok" && found.value !== undefined ? [name] : [],
      ),
      read,
    ),
  ]);
  return { networks, classics, targetGroups, networkTags: ofNetworks, classicTags: ofClassics };
}

/** Subnets and instances are for Services that are to have a load balancer; whoever is to lose one needs its security groups alone. */
async function lookAtVpc(
  sought: readonly Sought[],
  asked: Promise<Outcome<TargetInstances>>,
  named: Promise<Named>,
  { cluster, read, zoneTypes, nodeGroups }: Observing,
): Promise<Pick<Shared, "vpc" | "vpcOfLeaving">> {
  const identity = identityOf(cluster);
  const id = cluster.vpc ?? (await vpcOf(asked, named, identity));
  const isWanted = sought.some(({ wanted }) => wanted);
  const none: Outcome<readonly SubnetState[]> = ok([]);
  const [instances, listed, subnets] = await Promise.all([
    asked,
    groupsOf(id, identity.clusterTag, read),
    isWanted && id !== undefined ? subnetsOf(id, read, zoneTypes) : none,
  ]);
  const groups = listed.kind === "fault" ? listed : ok(await nodeGroups.mark(listed.value, ask(), read));
  const all = gathered<[readonly SecurityGroupState[], readonly SubnetState[], TargetInstances]>([
    groups,
    subnets,
    instances,
  ]);
  const vpc = { id: id ?? "", subnets: [], instances: {} };
  return {
    vpcOfLeaving: groups.kind === "fault" ? groups : ok({ ...vpc, groups: groups.value }),
    vpc: all.kind === "fault" ? all : ok({ ...vpc, ...parts(...all.value) }),
  };

  function ask(): AskedGroups {
    const targets = instances.kind === "ok" ? Object.values(instances.value.instances) : [];
    const descriptions = new Set(
      sought.flatMap(({ name }) => [`${CLIENT_RULE}=${name}`, `${HEALTH_RULE}=${name}`]),
    );
    return {
      identity,
      groupIds: new Set(targets.flatMap(({ groupIds }) => groupIds)),
      isOurs: ({ description = "" }) => descriptions.has(description),
    };
  }
}

/** What tells the cluster's resources from all others, as the configuration of its cloud has it. */
export function identityOf(cluster: AwsCluster): ClusterIdentity {
  return { clusterTag: cluster.clusterTag ?? cluster.clusterName ?? "", allow: allowedOf(cluster) };
}

/**
 * Where no VPC is configured: that of the targets, else that of the load balancers which carry the cluster's tag. A tenant can forge the
 * uid that names a load balancer: what is not proven to be the cluster's leads nowhere.
 */
async function vpcOf(
  asked: Promise<Outcome<TargetInstances>>,
  named: Promise<Named>,
  { clusterTag }: ClusterIdentity,
): Promise<string | undefined> {
  const instances = await asked;
  if (instances.kind === "ok" && instances.value.vpc !== undefined) return instances.value.vpc;
  const { networks, classics, networkTags: ofNetworks, classicTags: ofClassics } = await named;
  const isOurs = (tags: Outcome<Pairs | undefined> | undefined): boolean =>
    tags?.kind === "ok" && tags.value !== undefined && isMadeForCluster(tags.value, clusterTag);
  const found = [
    ...[...networks.values()].map((each) =>
      each.kind === "ok" && isOurs(ofNetworks.get(each.value?.LoadBalancerArn ?? ""))
        ? each.value?.VpcId
        : undefined,
    ),
    ...[...classics].map(([name, each]) =>
      each.kind === "ok" && isOurs(ofClassics.get(name)) ? each.value?.VPCId : undefined,
    ),
  ];
  return found.find((id) => id !== undefined);
}

function parts(
  groups: VpcState["groups"],
  subnets: VpcState["subnets"],
  { instances }: TargetInstances,
): Omit<VpcState, "id"> {
  return { groups, subnets, instances };
}

/** Target groups that may be one of these Services': what they are called says less than what they are tagged. */
export function candidatesOf(
  sought: readonly Sought[],
  networks: ByName<LoadBalancer>,
  targetGroups: Outcome<readonly TargetGroup[]>,
): readonly TargetGroup[] {
  if (targetGroups.kind === "fault") return [];
  const arns = sought.flatMap(({ name }) => arnsOf(networks, name));
  const prefixes = [...new Set(sought.map(({ targetGroupPrefix }) => targetGroupPrefix))];
  return targetGroups.value.filter(
    (group) =>
      isAttached(group, arns) ||
      prefixes.some((prefix) => group.TargetGroupName?.startsWith(prefix) === true),
  );
}

/** Whether one of these load balancers uses it. */
export function isAttached({ LoadBalancerArns: arns = [] }: TargetGroup, of: readonly string[]): boolean {
  return arns.some((arn) => of.includes(arn));
}

/** Its ARN; empty where AWS tells none. */
export function arnOf({ TargetGroupArn: arn = "" }: TargetGroup): string {
  return arn;
}

/** The ARN of the load balancer of one name, or of all. */
export function arnsOf(networks: ByName<LoadBalancer>, name?: string): string[] {
  const found = name === undefined ? [...networks.values()] : [networks.get(name)];
  return found.flatMap((each) => (each?.kind === "ok" ? (each.value?.LoadBalancerArn ?? []) : []));
}
