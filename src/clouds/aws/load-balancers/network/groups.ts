import { buildAction } from "#clouds/aws/load-balancers/actions.ts";
import { formatAnnotationName } from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import { getAllowedResources, getIdentity } from "#clouds/aws/load-balancers/configuration.ts";
import type { LoadBalancerContext } from "#clouds/aws/load-balancers/context.ts";
import { formatManagedGroupName } from "#clouds/aws/load-balancers/names.ts";
import { getActions, type NetworkContext } from "#clouds/aws/load-balancers/network/context.ts";
import { type Families, listAllClients } from "#clouds/aws/load-balancers/network/ports.ts";
import { findSharedGroupId, planSharedGroup } from "#clouds/aws/load-balancers/network/shared-group.ts";
import { isAllowed, isOwned } from "#clouds/aws/load-balancers/ownership.ts";
import type { Opening, PlanResult } from "#clouds/aws/load-balancers/types.ts";
import { planFrontendGroup, planGroupRemoval } from "#clouds/aws/load-balancers/vpc/frontend-group.ts";
import { isIPv6Network } from "#core/cidr.ts";
import { DEFAULT_CLUSTER_NAME } from "#core/contracts.ts";
import type { Issue, LoadBalancerAction } from "#core/service/model.ts";

/** The security groups attached to a load balancer. */
export type FrontendGroups =
  | {
      readonly kind: "planned";
      readonly actions: readonly LoadBalancerAction[];
      /** Undefined while a group does not exist yet; empty if AWS cannot attach groups, or no group is desired. */
      readonly ids: readonly string[] | undefined;
      /** The group that all load balancers of the cluster share. */
      readonly sharedId?: string | undefined;
      /** Groups created for the Service that are no longer attached, or no longer desired. */
      readonly obsolete: readonly string[];
      readonly warnings: readonly Issue[];
    }
  | { readonly kind: "refused"; readonly issue: Issue };

/**
 * Plans the security groups of a load balancer. Without `nlbSecurityGroupMode: Managed` the load balancer keeps its
 * groups. AWS never attaches groups to a load balancer that was created without groups.
 */
export function planFrontendGroups(context: NetworkContext, families: Families): FrontendGroups {
  const { desired, configuration, state } = context;
  const existing = state.network?.loadBalancer.SecurityGroups ?? [];
  const ownIds = listOwnGroups(context);
  const named = desired.annotations["security-groups"];
  if (!hasFrontendGroups(context) || !isManaged(context)) {
    const canHave = state.network === undefined || existing.length > 0;
    return {
      kind: "planned",
      actions: [],
      ids: excludeSharedGroup(existing, context),
      obsolete: ownIds.filter((id) => !existing.includes(id)),
      warnings: named === undefined ? [] : [buildIgnoredIssue(named, canHave)],
    };
  }
  const issue = named === undefined ? undefined : checkNamedGroups(named, context);
  if (issue !== undefined) return { kind: "refused", issue };
  const front = named === undefined ? planManaged(context, families) : undefined;
  if (front?.kind === "refused") return front;
  const shared = configuration.sharedBackendSecurityGroup === true ? planSharedGroup(context) : undefined;
  if (shared?.kind === "refused") return shared;
  const groupIds = [
    ...(named ?? (front?.value === undefined ? [] : [front.value])),
    ...(shared?.value === undefined ? [] : [shared.value]),
  ];
  const isKnown = groupIds.length === (named?.length ?? 1) + (shared === undefined ? 0 : 1);
  return {
    kind: "planned",
    actions: [front, shared].flatMap((part) => (part === undefined ? [] : getActions(part))),
    ids: isKnown ? groupIds : undefined,
    sharedId: shared?.value,
    obsolete: ownIds.filter((id) => !groupIds.includes(id) && isKnown),
    warnings: [],
  };
}

/**
 * Returns the groups without the shared one, if the operator has disabled it. A load balancer without other groups
 * keeps it: AWS does not allow removing the last group.
 */
function excludeSharedGroup(existing: readonly string[], { owner, state, configuration }: NetworkContext) {
  if (configuration.sharedBackendSecurityGroup === true) return existing;
  const shared = findSharedGroupId(owner.clusterTag, state.vpc.groups);
  const remainingIds = existing.filter((id) => id !== shared);
  return remainingIds.length > 0 ? remainingIds : existing;
}

/** Returns whether a load balancer has security groups of its own, or will be created with some. */
export function hasFrontendGroups(context: NetworkContext): boolean {
  const { state } = context;
  if (state.network !== undefined) return (state.network.loadBalancer.SecurityGroups ?? []).length > 0;
  return isManaged(context);
}

/**
 * Returns whether this controller manages the groups of a load balancer: the configuration says so, or the load
 * balancer already has a group that was created for its Service.
 */
function isManaged(context: NetworkContext): boolean {
  const { nlbSecurityGroupMode, sharedBackendSecurityGroup } = context.configuration;
  const existing = context.state.network?.loadBalancer.SecurityGroups ?? [];
  return (
    nlbSecurityGroupMode === "Managed" ||
    sharedBackendSecurityGroup === true ||
    listOwnGroups(context).some((id) => existing.includes(id))
  );
}

function planManaged(context: NetworkContext, families: Families): PlanResult<string> {
  return planFrontendGroup(
    {
      owner: context.owner,
      name: formatGroupName(context),
      description: "[k8s] Managed SecurityGroup for LoadBalancer",
      openings: buildOpenings(context, families),
    },
    context.state.vpc,
  );
}

/** Returns the action that attaches the planned groups to a load balancer, unless it has exactly these. */
export function planGroupAttachment(
  groups: Extract<FrontendGroups, { readonly kind: "planned" }>,
  { state, name }: NetworkContext,
): readonly LoadBalancerAction[] {
  const balancer = state.network?.loadBalancer;
  if (balancer === undefined || groups.ids === undefined) return [];
  const existing = balancer.SecurityGroups ?? [];
  if (existing.length === groups.ids.length && groups.ids.every((id) => existing.includes(id))) return [];
  const request = { LoadBalancerArn: balancer.LoadBalancerArn, SecurityGroups: [...groups.ids] };
  return [buildAction("elbv2:SetSecurityGroups", name, request)];
}

/** Plans the deletion of groups that were created for the Service and are obsolete. */
export function planSecurityGroupRemoval(
  groupIds: readonly string[],
  { owner, state, settings }: NetworkContext,
): readonly LoadBalancerAction[] {
  return getActions(planGroupRemoval({ owner, identity: getIdentity(settings), groupIds }, state.vpc));
}

/**
 * Lists security groups created for this Service's network load balancer, by us or by the stock controller.
 */
export function listOwnGroups(context: LoadBalancerContext): readonly string[] {
  const { state, owner } = context;
  const name = formatGroupName(context);
  return state.vpc.groups
    .filter(({ group, tags }) => group.GroupName === name && isOwned(tags, owner.clusterTag))
    .flatMap(({ group }) => group.GroupId ?? []);
}

function formatGroupName({ owner, configuration }: LoadBalancerContext): string {
  const { clusterName = DEFAULT_CLUSTER_NAME } = configuration;
  return formatManagedGroupName({ ...owner, clusterName });
}

/** Builds the openings for listeners and for path MTU messages. */
function buildOpenings({ desired }: NetworkContext, families: Families): readonly Opening[] {
  const ranges = (desired.sourceRanges ?? listAllClients(families)).filter(
    (range) => families.loadBalancer === "dualstack" || !isIPv6Network(range),
  );
  return [
    ...desired.ports.flatMap(({ port, protocol }) =>
      listTransports(protocol).map(
        (each): Opening => ({ protocol: each, ports: [port, port], cidrs: ranges }),
      ),
    ),
    ...buildPathMtuOpenings(ranges),
  ];
}

/** Builds the openings for packets that are too large for the path: ICMP type 3 code 4, ICMPv6 type 2. */
export function buildPathMtuOpenings(ranges: readonly string[]): readonly Opening[] {
  const ipv4 = ranges.filter((range) => !isIPv6Network(range));
  const ipv6 = ranges.filter(isIPv6Network);
  return [
    ...(ipv4.length === 0 ? [] : [{ protocol: "icmp", ports: [3, 4], cidrs: ipv4 } as const]),
    ...(ipv6.length === 0 ? [] : [{ protocol: "icmpv6", ports: [2, 0], cidrs: ipv6 } as const]),
  ];
}

/** Lists the transport protocols of a listener or a target group. */
export function listTransports(protocol: string): readonly ("tcp" | "udp")[] {
  if (protocol === "TCP_UDP") return ["tcp", "udp"];
  return protocol === "UDP" ? ["udp"] : ["tcp"];
}

const FIELD = formatAnnotationName("security-groups");

function checkNamedGroups(
  named: readonly string[],
  { state, owner, configuration }: NetworkContext,
): Issue | undefined {
  const unusable = named.filter((id) => {
    const found = state.vpc.groups.find(({ group }) => group.GroupId === id);
    const identity = { clusterTag: owner.clusterTag, allow: getAllowedResources(configuration) };
    return found === undefined || !isAllowed("securityGroups", { id, tags: found.tags }, identity);
  });
  if (unusable.length === 0) return undefined;
  return {
    code: "SecurityGroupNotAllowed",
    field: FIELD,
    value: named.join(","),
    detail: `not in ${state.vpc.id}, or neither the cluster's nor in cloud.allow.securityGroups: ${unusable.join(", ")}`,
  };
}

function buildIgnoredIssue(named: readonly string[], canHave: boolean): Issue {
  return {
    code: "UnsupportedAnnotation",
    field: FIELD,
    value: named.join(","),
    allowed: canHave
      ? "nothing, unless the operator has set nlbSecurityGroupMode: Managed"
      : "nothing, because the load balancer was created without security groups, and AWS attaches none later",
  };
}
