import type { LoadBalancerDescription } from "@aws-sdk/client-elastic-load-balancing";
import type { LoadBalancer, TargetGroup } from "@aws-sdk/client-elastic-load-balancing-v2";
import type { Outcome } from "#clouds/aws/errors.ts";
import { getAllowedResources } from "#clouds/aws/load-balancers/configuration.ts";
import type { BalancerLists } from "#clouds/aws/load-balancers/observe/all-load-balancers.ts";
import { readTargetInstances, type TargetInstances } from "#clouds/aws/load-balancers/observe/instances.ts";
import type { GroupsRequest, NodeGroupProofs } from "#clouds/aws/load-balancers/observe/node-groups.ts";
import {
  type ByName,
  readClassicByName,
  readNetworkByName,
} from "#clouds/aws/load-balancers/observe/read-by-name.ts";
import { combineOutcomes, type Reader } from "#clouds/aws/load-balancers/observe/reads.ts";
import type { ServiceQuery } from "#clouds/aws/load-balancers/observe/service-query.ts";
import { readClassicTags, readNetworkTags, type TagsById } from "#clouds/aws/load-balancers/observe/tags.ts";
import { readSecurityGroups, readSubnets, type ZoneTypes } from "#clouds/aws/load-balancers/observe/vpc.ts";
import { type ClusterIdentity, isMadeForCluster } from "#clouds/aws/load-balancers/ownership.ts";
import type {
  AddressState,
  Pairs,
  SecurityGroupState,
  SubnetState,
  VpcState,
} from "#clouds/aws/load-balancers/state.ts";
import { toPairs } from "#clouds/aws/load-balancers/tags.ts";
import { CLIENT_RULE, HEALTH_RULE } from "#clouds/aws/load-balancers/vpc/node-rules.ts";
import type { AwsCluster } from "#clouds/aws/ownership.ts";
import { fault, ok } from "#clouds/outcome.ts";
import { splitIntoChunks } from "#core/chunks.ts";

/** Inputs of an observation apart from its questions. */
export interface ObserveContext {
  readonly cluster: AwsCluster;
  readonly read: Reader;
  readonly zoneTypes: ZoneTypes;
  readonly nodeGroups: NodeGroupProofs;
  readonly lists: BalancerLists;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
}

/** Facts read for all Services together. */
export interface SharedState {
  readonly networks: ByName<LoadBalancer>;
  readonly classics: ByName<LoadBalancerDescription>;
  readonly targetGroups: Outcome<readonly TargetGroup[]>;
  readonly networkTags: TagsById;
  readonly classicTags: TagsById;
  /** Elastic IP addresses that any of the Services names. */
  readonly addresses: Outcome<Readonly<Record<string, AddressState>>>;
  readonly vpc: Outcome<VpcState>;
  /** The VPC's state without the parts for targets and new load balancers. */
  readonly vpcForRemoval: Outcome<VpcState>;
}

/** Reads the shared facts. */
export async function observeShared(
  queries: readonly ServiceQuery[],
  context: ObserveContext,
): Promise<SharedState> {
  const { cluster, read } = context;
  const instances = readTargetInstances(
    queries.flatMap(({ instanceIds }) => instanceIds),
    cluster,
    read,
  );
  const namedState = observeNamed(queries, context);
  const [named, addresses, vpcs] = await Promise.all([
    namedState,
    readAddresses(
      queries.flatMap(({ allocationIds }) => allocationIds),
      read,
    ),
    observeVpc(queries, instances, namedState, context),
  ]);
  return { ...named, addresses, ...vpcs };
}

/** Load balancers by name, and target groups, with their tags. */
type NamedState = Pick<SharedState, "networks" | "classics" | "targetGroups" | "networkTags" | "classicTags">;

async function observeNamed(
  queries: readonly ServiceQuery[],
  { read, lists }: ObserveContext,
): Promise<NamedState> {
  const names = [...new Set(queries.map(({ name }) => name))];
  const lookup = { read, lists, isNew: queries.some(({ isNew }) => isNew) };
  const [networks, classics, targetGroups] = await Promise.all([
    readNetworkByName(names, lookup),
    readClassicByName(names, lookup),
    lists.listTargetGroups(read),
  ]);
  const [tagsOfNetworks, tagsOfClassics] = await Promise.all([
    readNetworkTags(
      [
        ...listLoadBalancerArns(networks),
        ...selectCandidates(queries, networks, targetGroups).map(getTargetGroupArn),
      ].filter((arn) => arn !== ""),
      read,
    ),
    readClassicTags(
      [...classics].flatMap(([name, found]) =>
        found.kind === "ok" && found.value !== undefined ? [name] : [],
      ),
      read,
    ),
  ]);
  return { networks, classics, targetGroups, networkTags: tagsOfNetworks, classicTags: tagsOfClassics };
}

/**
 * Reads the VPC. Subnets and instances are for Services with a desired load balancer; a removal needs only
 * its security groups.
 */
async function observeVpc(
  queries: readonly ServiceQuery[],
  instancesRead: Promise<Outcome<TargetInstances>>,
  named: Promise<NamedState>,
  { cluster, read, zoneTypes, nodeGroups }: ObserveContext,
): Promise<Pick<SharedState, "vpc" | "vpcForRemoval">> {
  const identity = getClusterIdentity(cluster);
  const id = cluster.vpc ?? (await findVpc(instancesRead, named, identity));
  const needsSubnets = queries.some(({ wanted }) => wanted);
  const none: Outcome<readonly SubnetState[]> = ok([]);
  const [instances, listed, subnets] = await Promise.all([
    instancesRead,
    readSecurityGroups(id, identity.clusterTag, read),
    needsSubnets && id !== undefined ? readSubnets(id, read, zoneTypes) : none,
  ]);
  const groups =
    listed.kind === "fault" ? listed : await nodeGroups.prove(listed.value, buildGroupsRequest(), read);
  const all = combineOutcomes<[readonly SecurityGroupState[], readonly SubnetState[], TargetInstances]>([
    groups,
    subnets,
    instances,
  ]);
  const vpc = { id: id ?? "", subnets: [], instances: {} };
  return {
    vpcForRemoval: groups.kind === "fault" ? groups : ok({ ...vpc, groups: groups.value }),
    vpc: all.kind === "fault" ? all : ok({ ...vpc, ...buildVpcParts(...all.value) }),
  };

  function buildGroupsRequest(): GroupsRequest {
    const targets = instances.kind === "ok" ? Object.values(instances.value.instances) : [];
    const descriptions = new Set(
      queries.flatMap(({ name }) => [`${CLIENT_RULE}=${name}`, `${HEALTH_RULE}=${name}`]),
    );
    return {
      identity,
      groupIds: new Set(targets.flatMap(({ groupIds }) => groupIds)),
      isOurs: ({ description = "" }) => descriptions.has(description),
    };
  }
}

/** Returns the criteria for the cluster's resources, from its cloud configuration. */
export function getClusterIdentity(cluster: AwsCluster): ClusterIdentity {
  return { clusterTag: cluster.clusterTag ?? cluster.clusterName ?? "", allow: getAllowedResources(cluster) };
}

/**
 * Finds the VPC if none is configured: that of the targets, else that of load balancers with the cluster's
 * tag. A tenant can forge the uid that names a load balancer, so only proven resources of the cluster count.
 */
async function findVpc(
  instancesRead: Promise<Outcome<TargetInstances>>,
  named: Promise<NamedState>,
  { clusterTag }: ClusterIdentity,
): Promise<string | undefined> {
  const instances = await instancesRead;
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

function buildVpcParts(
  groups: VpcState["groups"],
  subnets: VpcState["subnets"],
  { instances, excludedInstanceIds }: TargetInstances,
): Omit<VpcState, "id"> {
  return { groups, subnets, instances, excludedInstanceIds };
}

/**
 * Selects target groups that may belong to these Services; their tags decide later, because names prove less.
 */
export function selectCandidates(
  queries: readonly ServiceQuery[],
  networks: ByName<LoadBalancer>,
  targetGroups: Outcome<readonly TargetGroup[]>,
): readonly TargetGroup[] {
  if (targetGroups.kind === "fault") return [];
  const arns = queries.flatMap(({ name }) => listLoadBalancerArns(networks, name));
  const prefixes = [...new Set(queries.map(({ targetGroupPrefix }) => targetGroupPrefix))];
  return targetGroups.value.filter(
    (group) =>
      isAttached(group, arns) ||
      prefixes.some((prefix) => group.TargetGroupName?.startsWith(prefix) === true),
  );
}

/** Whether one of these load balancers uses a target group. */
export function isAttached(
  { LoadBalancerArns: arns = [] }: TargetGroup,
  balancerArns: readonly string[],
): boolean {
  return arns.some((arn) => balancerArns.includes(arn));
}

/** Returns the ARN; empty if AWS does not provide it. */
export function getTargetGroupArn({ TargetGroupArn: arn = "" }: TargetGroup): string {
  return arn;
}

/** Returns the ARN of the load balancer of one name, or of all. */
export function listLoadBalancerArns(networks: ByName<LoadBalancer>, name?: string): string[] {
  const found = name === undefined ? [...networks.values()] : [networks.get(name)];
  return found.flatMap((each) => (each?.kind === "ok" ? (each.value?.LoadBalancerArn ?? []) : []));
}

/** EC2's maximum of values in a filter. */
const MAX_VALUES = 200;

/**
 * Reads Elastic IP addresses by allocation id. A filter skips missing ones; the ids parameter would fail the
 * whole request.
 */
async function readAddresses(
  ids: readonly string[],
  read: Reader,
): Promise<Outcome<Readonly<Record<string, AddressState>>>> {
  const found: Record<string, AddressState> = {};
  for (const Values of splitIntoChunks(ids, MAX_VALUES)) {
    const answer = await read("ec2:DescribeAddresses", { Filters: [{ Name: "allocation-id", Values }] });
    if (answer.kind === "fault") return answer;
    if (answer.value.Addresses === undefined)
      return fault("Unavailable", "DescribeAddresses: the answer is not a list");
    for (const { AllocationId: id, AssociationId: association, Tags: tags } of answer.value.Addresses)
      if (id !== undefined) found[id] = { tags: toPairs(tags), isInUse: association !== undefined };
  }
  return ok(found);
}
