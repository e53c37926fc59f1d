import {
  DescribeInstancesCommand,
  DescribeRouteTablesCommand,
  DescribeSecurityGroupsCommand,
} from "@aws-sdk/client-ec2";
import {
  DescribeLoadBalancerAttributesCommand as DescribeClassicAttributesCommand,
  DescribeLoadBalancersCommand as DescribeClassicCommand,
  DescribeTagsCommand as DescribeClassicTagsCommand,
} from "@aws-sdk/client-elastic-load-balancing";
import {
  DescribeListenersCommand,
  DescribeLoadBalancerAttributesCommand,
  DescribeLoadBalancersCommand,
  DescribeTagsCommand,
  DescribeTargetGroupAttributesCommand,
  DescribeTargetGroupsCommand,
  DescribeTargetHealthCommand,
} from "@aws-sdk/client-elastic-load-balancing-v2";
import { canonicalJson } from "#core/hash.ts";
import type { Clients } from "#test/clouds/aws/moto/clients.ts";

/** Everything that load balancers and routes are made of in an account, one line of JSON for each thing, sorted. */
export type AwsState = readonly string[];

/**
 * All there is, ours or not, with ids and ARNs replaced by names: equal for two accounts in which the same was made in another
 * order, at another time, or once more after it was lost. `names` are texts that stand for others, such as a Service's uid.
 */
export async function readAwsState(
  aws: Clients,
  vpc: string,
  names: Readonly<Record<string, string>>,
): Promise<AwsState> {
  const Filters = [{ Name: "vpc-id", Values: [vpc] }];
  const { SecurityGroups = [] } = await aws.ec2.send(new DescribeSecurityGroupsCommand({ Filters }));
  const groups = await aws.elbv2.send(new DescribeTargetGroupsCommand({}));
  const TargetGroups = groups.TargetGroups ?? [];
  const things = [
    ...(await networkLoadBalancers(aws)),
    ...(await targetGroups(aws, TargetGroups)),
    ...(await classicLoadBalancers(aws)),
    ...SecurityGroups.map(({ GroupId: _, OwnerId: _owner, SecurityGroupArn: _arn, ...group }) => ({
      kind: "security group",
      ...group,
      GroupName: groupName(group.GroupName),
      IpPermissions: group.IpPermissions?.flatMap(singleRules),
      IpPermissionsEgress: undefined,
      Tags: pairs(group.Tags),
    })),
    ...(await routeTables(aws, vpc)),
    ...(await instances(aws, vpc)),
  ];
  const replaced: [string, string][] = [
    ...TargetGroups.map(({ TargetGroupArn = "", TargetGroupName }): [string, string] => [
      TargetGroupArn,
      `<target group ${TargetGroupName}>`,
    ]),
    ...SecurityGroups.map(({ GroupId = "", GroupName }): [string, string] => [
      GroupId,
      `<group ${groupName(GroupName)}>`,
    ]),
    ...Object.entries(names),
  ];
  return things
    .map((thing) => {
      const text = replaced.reduce((all, [from, to]) => all.replaceAll(from, to), JSON.stringify(thing));
      return canonicalJson(withoutOrder(JSON.parse(text)));
    })
    .toSorted();
}

/** Names of all load balancers and target groups, and the security groups of a VPC with their rules: enough to see that something is left. */
export async function readAwsOutline(aws: Clients, vpc: string): Promise<AwsState> {
  const Filters = [{ Name: "vpc-id", Values: [vpc] }];
  const [network, groups, classic, security] = await Promise.all([
    aws.elbv2.send(new DescribeLoadBalancersCommand({})),
    aws.elbv2.send(new DescribeTargetGroupsCommand({})),
    aws.elb.send(new DescribeClassicCommand({})),
    aws.ec2.send(new DescribeSecurityGroupsCommand({ Filters })),
  ]);
  const rules = (security.SecurityGroups ?? []).flatMap(({ GroupName, IpPermissions = [] }) => [
    `security group ${GroupName}`,
    ...IpPermissions.flatMap(singleRules).map((rule) => `rule of ${GroupName}: ${canonicalJson(rule)}`),
  ]);
  return [
    ...(network.LoadBalancers ?? []).map(
      ({ LoadBalancerName }) => `network load balancer ${LoadBalancerName}`,
    ),
    ...(groups.TargetGroups ?? []).map(({ TargetGroupName }) => `target group ${TargetGroupName}`),
    ...(classic.LoadBalancerDescriptions ?? []).map(
      ({ LoadBalancerName }) => `classic load balancer ${LoadBalancerName}`,
    ),
    ...rules,
  ].toSorted();
}

/** AWS's lists tell no order: each is sorted by what it says, once names stand in it. */
export function withoutOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutOrder).toSorted(byJson);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withoutOrder(each)]));
}

function byJson(one: unknown, other: unknown): number {
  return canonicalJson(one) < canonicalJson(other) ? -1 : 1;
}

async function networkLoadBalancers(aws: Clients): Promise<object[]> {
  const { LoadBalancers = [] } = await aws.elbv2.send(new DescribeLoadBalancersCommand({}));
  const tags = await tagsOf(
    aws,
    LoadBalancers.map(({ LoadBalancerArn }) => LoadBalancerArn),
  );
  return Promise.all(
    LoadBalancers.map(
      async ({
        LoadBalancerArn = "",
        CreatedTime: _,
        CanonicalHostedZoneId: _zone,
        State: _state,
        ...rest
      }) => {
        const [attributes, { Listeners = [] }] = await Promise.all([
          aws.elbv2.send(new DescribeLoadBalancerAttributesCommand({ LoadBalancerArn })),
          aws.elbv2.send(new DescribeListenersCommand({ LoadBalancerArn })),
        ]);
        const listenerTags = await tagsOf(
          aws,
          Listeners.map(({ ListenerArn }) => ListenerArn),
        );
        return {
          kind: "network load balancer",
          ...rest,
          DNSName: rest.DNSName?.replace(/-[0-9a-f]{16}\./, "-<hash>."),
          AvailabilityZones: rest.AvailabilityZones,
          SecurityGroups: rest.SecurityGroups,
          tags: tags.get(LoadBalancerArn),
          attributes: pairs(attributes.Attributes),
          listeners: Listeners.map(
            ({ ListenerArn = "", LoadBalancerArn: _arn, Certificates, ...listener }) => ({
              ...listener,
              // Of one that was modified moto says that it has none; of a new one nothing.
              ...(Certificates?.length ? { Certificates } : {}),
              tags: listenerTags.get(ListenerArn),
            }),
          ),
        };
      },
    ),
  );
}

type TargetGroups = NonNullable<Awaited<ReturnType<typeof describeTargetGroups>>["TargetGroups"]>;

function describeTargetGroups(aws: Clients) {
  return aws.elbv2.send(new DescribeTargetGroupsCommand({}));
}

async function targetGroups(aws: Clients, groups: TargetGroups): Promise<object[]> {
  const tags = await tagsOf(
    aws,
    groups.map(({ TargetGroupArn }) => TargetGroupArn),
  );
  return Promise.all(
    groups.map(async ({ TargetGroupArn = "", LoadBalancerArns = [], ...group }) => {
      const [attributes, health] = await Promise.all([
        aws.elbv2.send(new DescribeTargetGroupAttributesCommand({ TargetGroupArn })),
        aws.elbv2.send(new DescribeTargetHealthCommand({ TargetGroupArn })),
      ]);
      return {
        kind: "target group",
        ...group,
        loadBalancers: LoadBalancerArns.map((arn) => arn.split("/").at(-2)),
        tags: tags.get(TargetGroupArn),
        attributes: pairs(attributes.Attributes),
        targets: health.TargetHealthDescriptions?.map(({ Target }) => Target),
      };
    }),
  );
}

/** AWS tells the tags of so many at a time. */
const MAX_TAGGED = 20;

async function tagsOf(
  aws: Clients,
  arns: readonly (string | undefined)[],
): Promise<ReadonlyMap<string, Readonly<Record<string, string>>>> {
  const found = new Map<string, Readonly<Record<string, string>>>();
  for (let first = 0; first < arns.length; first += MAX_TAGGED) {
    const ResourceArns = arns.slice(first, first + MAX_TAGGED).map((arn = "") => arn);
    const { TagDescriptions = [] } = await aws.elbv2.send(new DescribeTagsCommand({ ResourceArns }));
    for (const { ResourceArn = "", Tags } of TagDescriptions) found.set(ResourceArn, pairs(Tags));
  }
  return found;
}

async function classicLoadBalancers(aws: Clients): Promise<object[]> {
  const { LoadBalancerDescriptions = [] } = await aws.elb.send(new DescribeClassicCommand({}));
  return Promise.all(
    LoadBalancerDescriptions.map(async ({ CreatedTime: _, ...described }) => {
      const LoadBalancerName = described.LoadBalancerName ?? "";
      const [attributes, tags] = await Promise.all([
        aws.elb.send(new DescribeClassicAttributesCommand({ LoadBalancerName })),
        aws.elb.send(new DescribeClassicTagsCommand({ LoadBalancerNames: [LoadBalancerName] })),
      ]);
      const hostOf = (host: string | undefined) => host?.replace(/-\d+\./, "-<number>.");
      return {
        kind: "classic load balancer",
        ...described,
        DNSName: hostOf(described.DNSName),
        CanonicalHostedZoneName: hostOf(described.CanonicalHostedZoneName),
        Subnets: described.Subnets,
        SecurityGroups: described.SecurityGroups,
        Instances: described.Instances,
        ListenerDescriptions: described.ListenerDescriptions,
        BackendServerDescriptions: described.BackendServerDescriptions,
        attributes: attributes.LoadBalancerAttributes,
        tags: pairs(tags.TagDescriptions?.[0]?.Tags),
      };
    }),
  );
}

async function routeTables(aws: Clients, vpc: string): Promise<object[]> {
  const Filters = [{ Name: "vpc-id", Values: [vpc] }];
  const { RouteTables = [] } = await aws.ec2.send(new DescribeRouteTablesCommand({ Filters }));
  return RouteTables.map(({ Routes, Tags }) => ({
    kind: "route table",
    // The VPC's own are another network's each time, and an interface is its instance's.
    Routes: (Routes ?? [])
      .filter(({ GatewayId }) => GatewayId !== "local")
      .map(({ NetworkInterfaceId, ...route }) =>
        route.InstanceId === undefined ? { ...route, NetworkInterfaceId } : route,
      ),
    Tags: pairs(Tags),
  }));
}

async function instances(aws: Clients, vpc: string): Promise<object[]> {
  const Filters = [{ Name: "vpc-id", Values: [vpc] }];
  const { Reservations = [] } = await aws.ec2.send(new DescribeInstancesCommand({ Filters }));
  return Reservations.flatMap(({ Instances = [] }) => Instances).map((instance) => ({
    kind: "instance",
    InstanceId: instance.InstanceId,
    State: instance.State?.Name,
    SourceDestCheck: instance.SourceDestCheck,
    SecurityGroups: instance.SecurityGroups?.map(({ GroupId }) => GroupId),
    Tags: pairs(instance.Tags),
  }));
}

/** A managed group's name ends with a hash that the Service's uid is part of. */
function groupName(name: string | undefined): string | undefined {
  return name?.replace(/^(k8s-.*)-[0-9a-f]{10}$/, "$1-<hash>");
}

type Permission = NonNullable<
  NonNullable<
    NonNullable<Awaited<ReturnType<typeof describeSecurityGroups>>["SecurityGroups"]>[number]["IpPermissions"]
  >
>[number];

function describeSecurityGroups(aws: Clients) {
  return aws.ec2.send(new DescribeSecurityGroupsCommand({}));
}

/** Permissions are grouped by what was there before: one peer each tells no order. */
function singleRules({
  IpRanges,
  Ipv6Ranges,
  PrefixListIds,
  UserIdGroupPairs,
  ...what
}: Permission): object[] {
  const peers = [
    ...(IpRanges ?? []),
    ...(Ipv6Ranges ?? []),
    ...(PrefixListIds ?? []),
    ...(UserIdGroupPairs ?? []).map(({ GroupId, Description }) => ({ GroupId, Description })),
  ];
  return peers.map((peer) => ({ ...what, peer }));
}

function pairs(
  all: readonly { readonly Key?: string | undefined; readonly Value?: string | undefined }[] = [],
): Readonly<Record<string, string>> {
  return Object.fromEntries(all.map(({ Key = "", Value = "" }) => [Key, Value]));
}
