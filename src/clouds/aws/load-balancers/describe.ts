import type { Listener } from "@aws-sdk/client-elastic-load-balancing-v2";
import { getConfiguration } from "#clouds/aws/load-balancers/configuration.ts";
import { contextFor } from "#clouds/aws/load-balancers/context.ts";
import { checkOwnership, isNameForeign } from "#clouds/aws/load-balancers/ownership.ts";
import type {
  AwsLoadBalancerState,
  ClassicLoadBalancerState,
  NetworkLoadBalancerState,
  Pairs,
  TargetGroupState,
  VpcState,
} from "#clouds/aws/load-balancers/state.ts";
import type { Owner } from "#clouds/aws/load-balancers/types.ts";
import type { DescribedLoadBalancer } from "#clouds/diagnosis.ts";
import type { Service } from "#core/service/service.ts";
import type { Settings } from "#core/settings.ts";

/**
 * Describes a Service's resources on AWS for people: load balancers of both types, their listeners, target
 * groups and security groups.
 */
export function describeOnAws(
  service: Service,
  observed: unknown,
  settings: Settings,
): DescribedLoadBalancer {
  // The observation comes from our own capability, which has parsed AWS's answers.
  const state = observed as AwsLoadBalancerState;
  const owner = contextFor(service, state, settings)?.owner;
  if (owner === undefined) return { belongsTo: "none", lines: [] };
  const { network, classic, targetGroups, vpc } = state;
  const used = new Set(
    (network?.listeners ?? []).flatMap(({ listener }) => listListenerTargetGroups(listener)),
  );
  const unused = targetGroups.filter(({ group }) => !used.has(group.TargetGroupArn ?? ""));
  const lines = [
    ...(network === undefined ? [] : describeNetwork(network, targetGroups, vpc, owner)),
    ...(classic === undefined ? [] : describeClassic(classic, vpc, owner)),
    ...unused.map(
      (each) =>
        `target group without a listener: ${describeTargetGroup(each)}, ${formatOwnership(each.tags, owner)}`,
    ),
  ];
  return {
    belongsTo: isNameForeign(state, owner, getConfiguration(settings))
      ? "other"
      : classifyOwnership([network?.tags, classic?.tags, ...unused.map(({ tags }) => tags)], owner),
    lines,
  };
}

function describeNetwork(
  { loadBalancer, tags, listeners }: NetworkLoadBalancerState,
  targetGroups: readonly TargetGroupState[],
  vpc: VpcState,
  owner: Owner,
): string[] {
  const { LoadBalancerName, State, Scheme, IpAddressType, DNSName, AvailabilityZones = [] } = loadBalancer;
  const zones = AvailabilityZones.map(({ ZoneName, SubnetId }) => `${ZoneName} (${SubnetId})`);
  const reason = State?.Reason ? ` (${State.Reason})` : "";
  return [
    `network load balancer ${LoadBalancerName}: ${State?.Code ?? "state unknown"}${reason}, ${Scheme}, ${IpAddressType}`,
    `at ${DNSName}`,
    `in ${formatList(zones)}`,
    formatOwnership(tags, owner),
    ...listeners.map(({ listener }) => {
      const groups = targetGroups.filter(({ group }) =>
        listListenerTargetGroups(listener).includes(group.TargetGroupArn ?? ""),
      );
      return `listener ${listener.Protocol}:${listener.Port} to ${formatList(groups.map(describeTargetGroup))}`;
    }),
    `security groups: ${formatGroupNames(loadBalancer.SecurityGroups, vpc, owner)}`,
  ];
}

function describeClassic(
  { loadBalancer, tags }: ClassicLoadBalancerState,
  vpc: VpcState,
  owner: Owner,
): string[] {
  const { LoadBalancerName, Scheme, DNSName, ListenerDescriptions = [], Instances = [] } = loadBalancer;
  return [
    `classic load balancer ${LoadBalancerName}: ${Scheme}`,
    `at ${DNSName}`,
    `in ${formatList(loadBalancer.Subnets ?? [])}`,
    formatOwnership(tags, owner),
    ...ListenerDescriptions.flatMap(({ Listener: listener }) =>
      listener === undefined
        ? []
        : [
            `listener ${listener.Protocol}:${listener.LoadBalancerPort} to ${listener.InstanceProtocol}:${listener.InstancePort}`,
          ],
    ),
    `instances: ${Instances.length}`,
    `security groups: ${formatGroupNames(loadBalancer.SecurityGroups, vpc, owner)}`,
  ];
}

function describeTargetGroup({ group, targets }: TargetGroupState): string {
  const count = `${targets.length} ${targets.length === 1 ? "target" : "targets"}`;
  return `${group.TargetGroupName} (${group.Protocol}:${group.Port}, ${group.TargetType}), ${count}`;
}

function listListenerTargetGroups({ DefaultActions = [] }: Listener): string[] {
  return DefaultActions.flatMap(({ TargetGroupArn, ForwardConfig }) => [
    ...(TargetGroupArn === undefined ? [] : [TargetGroupArn]),
    ...(ForwardConfig?.TargetGroups ?? []).flatMap((each) => each.TargetGroupArn ?? []),
  ]);
}

/** A group without a tag of ours belongs to the operator, or an annotation names it. */
function formatGroupNames(ids: readonly string[] = [], { groups }: VpcState, owner: Owner): string {
  return formatList(
    ids.map((id) => {
      const found = groups.find(({ group }) => group.GroupId === id);
      const origin =
        found !== undefined && checkOwnership(found.tags, owner) === "service"
          ? "created for it"
          : "not created for it";
      return found === undefined ? id : `${id} ${found.group.GroupName} (${origin})`;
    }),
  );
}

function formatList(texts: readonly string[]): string {
  return texts.length === 0 ? "none" : texts.join(", ");
}

const BELONGS = {
  service: "its tags name this Service",
  cluster: "its tags name the cluster and another Service",
  unclaimed:
    "its tags name no cluster: it is this cluster's only if cloud.vpc is configured without cloud.clusterTag",
  another: "its tags name another cluster",
} as const;

function formatOwnership(tags: Pairs, owner: Owner): string {
  return BELONGS[checkOwnership(tags, owner)];
}

function classifyOwnership(
  all: readonly (Pairs | undefined)[],
  owner: Owner,
): DescribedLoadBalancer["belongsTo"] {
  const ownerships = all.flatMap((tags) => (tags === undefined ? [] : [checkOwnership(tags, owner)]));
  if (ownerships.length === 0) return "none";
  return ownerships.includes("another") ? "other" : "service";
}
