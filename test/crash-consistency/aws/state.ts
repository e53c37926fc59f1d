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
import { formatCanonicalJson } from "#core/hash.ts";
import type { Clients } from "#test/clouds/aws/moto/clients.ts";

/** The parts of all load balancers and routes in an account: one line of JSON for each, sorted. */
export type AwsState = readonly string[];

/**
 * Reads all load balancers and routes, ours or not, with names in place of ids and ARNs. Two accounts with
 * the same resources are equal, whatever the order, the time or the number of attempts of their creation.
 * `names` maps texts, such as a Service's uid, to replacements.
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
      return formatCanonicalJson(sortLists(JSON.parse(text)));
    })
    .toSorted();
}

/**
 * Returns the names of all load balancers and target groups, and the security groups of a VPC with their
 * rules. This is enough to detect leftovers.
 */
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
    ...IpPermissions.flatMap(singleRules).map((rule) => `rule of ${GroupName}: ${formatCanonicalJson(rule)}`),
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

/** Sorts each list by its content, after names have replaced ids. The order of AWS's lists has no meaning. */
export function sortLists(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortLists).toSorted(byJson);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, sortLists(each)]));
}

function byJson(one: unknown, other: unknown): number {
  return formatCanonicalJson(one) < formatCanonicalJson(other) ? -1 : 1;
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
              // After a modification moto returns an empty list; for a new listener it omits the field.
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

/** The most load balancers for which AWS returns tags in one call. */
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
    // The VPC's own routes differ in each network, and an interface belongs to its instance.
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

/** The name of a managed group ends with a hash of the Service's uid, among others. */
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

/** Splits permissions into one peer each, because their grouping depends on the history. */
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
