import type { Listener } from "@aws-sdk/client-elastic-load-balancing-v2";
import { configurationOf } from "#clouds/aws/load-balancers/configuration.ts";
import { checkOwnership, isNameForeign } from "#clouds/aws/load-balancers/ownership.ts";
import type { Owner } from "#clouds/aws/load-balancers/pieces.ts";
import type {
  AwsLoadBalancerState,
  ClassicLoadBalancerState,
  NetworkLoadBalancerState,
  Pairs,
  TargetGroupState,
  VpcState,
} from "#clouds/aws/load-balancers/state.ts";
import { whoseOf } from "#clouds/aws/load-balancers/whose.ts";
import type { DescribedLoadBalancer } from "#clouds/described.ts";
import type { Service } from "#core/service/service.ts";
import type { Settings } from "#core/settings.ts";

/** What AWS has of a Service, in words: load balancers of both kinds, their listeners, target groups and security groups. */
export function describeOnAws(
  service: Service,
  observed: unknown,
  settings: Settings,
): DescribedLoadBalancer {
  // The observation is our own capability's, which has parsed what AWS answered.
  const state = observed as AwsLoadBalancerState;
  const owner = whoseOf(service, state, settings)?.owner;
  if (owner === undefined) return { belongsTo: "none", lines: [] };
  const { network, classic, targetGroups, vpc } = state;
  const used = new Set((network?.listeners ?? []).flatMap(({ listener }) => groupsOf(listener)));
  const unused = targetGroups.filter(({ group }) => !used.has(group.TargetGroupArn ?? ""));
  const lines = [
    ...(network === undefined ? [] : ofNetwork(network, targetGroups, vpc, owner)),
    ...(classic === undefined ? [] : ofClassic(classic, vpc, owner)),
    ...unused.map(
      (each) => `target group without a listener: ${groupText(each)}, ${belongs(each.tags, owner)}`,
    ),
  ];
  return {
    belongsTo: isNameForeign(state, owner, configurationOf(settings))
      ? "other"
      : belongsTo([network?.tags, classic?.tags, ...unused.map(({ tags }) => tags)], owner),
    lines,
  };
}

function ofNetwork(
  { loadBalancer, tags, listeners }: NetworkLoadBalancerState,
  targetGroups: readonly TargetGroupState[],
  vpc: VpcState,
  owner: Owner,
): string[] {
  const { LoadBalancerName, State, Scheme, IpAddressType, DNSName, AvailabilityZones = [] } = loadBalancer;
  const zones = AvailabilityZones.map(({ ZoneName, SubnetId }) => `${ZoneName} (${SubnetId})`);
  const reason = State?.Reason ? ` (${State.Reason})` : "";
  return [
    `network load balancer ${LoadBalancerName}: ${State?.Code ?? "of unknown state"}${reason}, ${Scheme}, ${IpAddressType}`,
    `at ${DNSName}`,
    `in ${listed(zones)}`,
    belongs(tags, owner),
    ...listeners.map(({ listener }) => {
      const groups = targetGroups.filter(({ group }) =>
        groupsOf(listener).includes(group.TargetGroupArn ?? ""),
      );
      return `listener ${listener.Protocol}:${listener.Port} to ${listed(groups.map(groupText))}`;
    }),
    `security groups: ${groupNames(loadBalancer.SecurityGroups, vpc, owner)}`,
  ];
}

function ofClassic({ loadBalancer, tags }: ClassicLoadBalancerState, vpc: VpcState, owner: Owner): string[] {
  const { LoadBalancerName, Scheme, DNSName, ListenerDescriptions = [], Instances = [] } = loadBalancer;
  return [
    `classic load balancer ${LoadBalancerName}: ${Scheme}`,
    `at ${DNSName}`,
    `in ${listed(loadBalancer.Subnets ?? [])}`,
    belongs(tags, owner),
    ...ListenerDescriptions.flatMap(({ Listener: listener }) =>
      listener === undefined
        ? []
        : [
            `listener ${listener.Protocol}:${listener.LoadBalancerPort} to ${listener.InstanceProtocol}:${listener.InstancePort}`,
          ],
    ),
    `instances: ${Instances.length}`,
    `security groups: ${groupNames(loadBalancer.SecurityGroups, vpc, owner)}`,
  ];
}

function groupText({ group, targets }: TargetGroupState): string {
  const many = `${targets.length} ${targets.length === 1 ? "target" : "targets"}`;
  return `${group.TargetGroupName} (${group.Protocol}:${group.Port}, ${group.TargetType}), ${many}`;
}

function groupsOf({ DefaultActions = [] }: Listener): string[] {
  return DefaultActions.flatMap(({ TargetGroupArn, ForwardConfig }) => [
    ...(TargetGroupArn === undefined ? [] : [TargetGroupArn]),
    ...(ForwardConfig?.TargetGroups ?? []).flatMap((each) => each.TargetGroupArn ?? []),
  ]);
}

/** A group that carries no tag of ours is the operator's, or named by an annotation. */
function groupNames(ids: readonly string[] = [], { groups }: VpcState, owner: Owner): string {
  return listed(
    ids.map((id) => {
      const known = groups.find(({ group }) => group.GroupId === id);
      const whose =
        known !== undefined && checkOwnership(known.tags, owner) === "service"
          ? "made for it"
          : "not made for it";
      return known === undefined ? id : `${id} ${known.group.GroupName} (${whose})`;
    }),
  );
}

function listed(texts: readonly string[]): string {
  return texts.length === 0 ? "none" : texts.join(", ");
}

const BELONGS = {
  service: "its tags say that it is this Service's",
  cluster: "its tags say that it is the cluster's, and another Service's",
  nobody:
    "its tags name no cluster: it is this one's only where cloud.vpc is configured without cloud.clusterTag",
  another: "its tags say that it is another cluster's",
} as const;

function belongs(tags: Pairs, owner: Owner): string {
  return BELONGS[checkOwnership(tags, owner)];
}

function belongsTo(all: readonly (Pairs | undefined)[], owner: Owner): DescribedLoadBalancer["belongsTo"] {
  const there = all.flatMap((tags) => (tags === undefined ? [] : [checkOwnership(tags, owner)]));
  if (there.length === 0) return "none";
  return there.includes("another") ? "other" : "service";
}
