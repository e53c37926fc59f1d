import { awsAction } from "#clouds/aws/load-balancers/actions.ts";
import { annotationName } from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import { allowedOf } from "#clouds/aws/load-balancers/configuration.ts";
import { managedGroupName } from "#clouds/aws/load-balancers/names.ts";
import type { NetworkContext } from "#clouds/aws/load-balancers/network/context.ts";
import { everybody, type Families } from "#clouds/aws/load-balancers/network/families.ts";
import { planSharedGroup, sharedGroupId } from "#clouds/aws/load-balancers/network/shared-group.ts";
import { isAllowed, isOwned } from "#clouds/aws/load-balancers/ownership.ts";
import type { Opening, Piece } from "#clouds/aws/load-balancers/pieces.ts";
import { planFrontGroup } from "#clouds/aws/load-balancers/vpc/front-group.ts";
import type { Whose } from "#clouds/aws/load-balancers/whose.ts";
import { isIPv6Network } from "#core/cidr.ts";
import type { LoadBalancerAction, Problem } from "#core/service/model.ts";

/** The security groups on a load balancer itself. */
export type FrontGroups =
  | {
      readonly kind: "planned";
      readonly actions: readonly LoadBalancerAction[];
      /** Undefined while one is not made yet; none where AWS can attach none, or none is to be. */
      readonly ids: readonly string[] | undefined;
      /** That one of them which all of the cluster's load balancers share. */
      readonly sharedId?: string | undefined;
      /** Groups of ours that are on it no more, or are not to be. */
      readonly obsolete: readonly string[];
      readonly warnings: readonly Problem[];
    }
  | { readonly kind: "refused"; readonly problem: Problem };

/**
 * Which security groups a load balancer is to have. Without `nlbSecurityGroupMode: Managed` it keeps those that it has; one that was
 * made without any can never get some, which is AWS's rule.
 */
export function planFrontGroups(context: NetworkContext, families: Families): FrontGroups {
  const { wanted, configuration, state } = context;
  const existing = state.network?.loadBalancer.SecurityGroups ?? [];
  const own = ownGroups(context);
  const named = wanted.annotations["security-groups"];
  if (!hasFrontGroups(context) || !isManaged(context)) {
    const canHave = state.network === undefined || existing.length > 0;
    return {
      kind: "planned",
      actions: [],
      ids: withoutShared(existing, context),
      obsolete: own.filter((id) => !existing.includes(id)),
      warnings: named === undefined ? [] : [ignored(named, canHave)],
    };
  }
  const problem = named === undefined ? undefined : faultOfNamed(named, context);
  if (problem !== undefined) return { kind: "refused", problem };
  const front = named === undefined ? planManaged(context, families) : undefined;
  if (front?.kind === "refused") return front;
  const shared = configuration.sharedBackendSecurityGroup === true ? planSharedGroup(context) : undefined;
  if (shared?.kind === "refused") return shared;
  const all = [
    ...(named ?? (front?.value === undefined ? [] : [front.value])),
    ...(shared?.value === undefined ? [] : [shared.value]),
  ];
  const isKnown = all.length === (named?.length ?? 1) + (shared === undefined ? 0 : 1);
  return {
    kind: "planned",
    actions: [front, shared].flatMap((piece) => (piece?.kind === "act" ? piece.actions : [])),
    ids: isKnown ? all : undefined,
    sharedId: shared?.value,
    obsolete: own.filter((id) => !all.includes(id) && isKnown),
    warnings: [],
  };
}

/** Once the operator wants no group that all share, it goes from those that have others: AWS lets none be without any. */
function withoutShared(existing: readonly string[], { owner, state, configuration }: NetworkContext) {
  if (configuration.sharedBackendSecurityGroup === true) return existing;
  const shared = sharedGroupId(owner.clusterTag, state.vpc.groups);
  const rest = existing.filter((id) => id !== shared);
  return rest.length > 0 ? rest : existing;
}

/** Whether a load balancer has security groups of its own, or is to be made with some. */
export function hasFrontGroups(context: NetworkContext): boolean {
  const { state } = context;
  if (state.network !== undefined) return (state.network.loadBalancer.SecurityGroups ?? []).length > 0;
  return isManaged(context);
}

/** The operator wants groups on load balancers; one that has ours already keeps it in order, whatever is wanted by now. */
function isManaged(context: NetworkContext): boolean {
  const { nlbSecurityGroupMode, sharedBackendSecurityGroup } = context.configuration;
  const existing = context.state.network?.loadBalancer.SecurityGroups ?? [];
  return (
    nlbSecurityGroupMode === "Managed" ||
    sharedBackendSecurityGroup === true ||
    ownGroups(context).some((id) => existing.includes(id))
  );
}

function planManaged(context: NetworkContext, families: Families): Piece<string> {
  return planFrontGroup(
    {
      owner: context.owner,
      name: nameOf(context),
      description: "[k8s] Managed SecurityGroup for LoadBalancer",
      openings: openingsOf(context, families),
    },
    context.state.vpc,
  );
}

/** Puts the groups onto a load balancer that has others. */
export function attachGroups(
  groups: Extract<FrontGroups, { readonly kind: "planned" }>,
  { state, name }: NetworkContext,
): readonly LoadBalancerAction[] {
  const balancer = state.network?.loadBalancer;
  if (balancer === undefined || groups.ids === undefined) return [];
  const existing = balancer.SecurityGroups ?? [];
  if (existing.length === groups.ids.length && groups.ids.every((id) => existing.includes(id))) return [];
  const request = { LoadBalancerArn: balancer.LoadBalancerArn, SecurityGroups: [...groups.ids] };
  return [awsAction("elbv2:SetSecurityGroups", name, request)];
}

/** Security groups that were made for this Service's network load balancer, by us or the stock controller. */
export function ownGroups(whose: Whose): readonly string[] {
  const { state, owner } = whose;
  const name = nameOf(whose);
  return state.vpc.groups
    .filter(({ group, tags }) => group.GroupName === name && isOwned(tags, owner.clusterTag))
    .flatMap(({ group }) => group.GroupId ?? []);
}

function nameOf({ owner, configuration }: Whose): string {
  return managedGroupName({ ...owner, clusterName: configuration.clusterName ?? "kubernetes" });
}

/** What comes to the listeners, and what tells senders that their packets are too large. */
function openingsOf({ wanted }: NetworkContext, families: Families): readonly Opening[] {
  const ranges = (wanted.sourceRanges ?? everybody(families)).filter(
    (range) => families.loadBalancer === "dualstack" || !isIPv6Network(range),
  );
  return [
    ...wanted.ports.flatMap(({ port, protocol }) =>
      transports(protocol).map((each): Opening => ({ protocol: each, ports: [port, port], cidrs: ranges })),
    ),
    ...tooLarge(ranges),
  ];
}

/** That a packet is too large for the path: type 3 code 4 of ICMP, type 2 of ICMPv6. */
export function tooLarge(ranges: readonly string[]): readonly Opening[] {
  const ipv4 = ranges.filter((range) => !isIPv6Network(range));
  const ipv6 = ranges.filter(isIPv6Network);
  return [
    ...(ipv4.length === 0 ? [] : [{ protocol: "icmp", ports: [3, 4], cidrs: ipv4 } as const]),
    ...(ipv6.length === 0 ? [] : [{ protocol: "icmpv6", ports: [2, 0], cidrs: ipv6 } as const]),
  ];
}

/** What goes over the network for a listener or a target group. */
export function transports(protocol: string): readonly ("tcp" | "udp")[] {
  if (protocol === "TCP_UDP") return ["tcp", "udp"];
  return protocol === "UDP" ? ["udp"] : ["tcp"];
}

const FIELD = annotationName("security-groups");

function faultOfNamed(
  named: readonly string[],
  { state, owner, configuration }: NetworkContext,
): Problem | undefined {
  const bad = named.filter((id) => {
    const found = state.vpc.groups.find(({ group }) => group.GroupId === id);
    const who = { clusterTag: owner.clusterTag, allow: allowedOf(configuration) };
    return found === undefined || !isAllowed("securityGroups", { id, tags: found.tags }, who);
  });
  if (bad.length === 0) return undefined;
  return {
    code: "SecurityGroupNotAllowed",
    field: FIELD,
    value: named.join(","),
    detail: `not in ${state.vpc.id}, or neither the cluster's nor in cloud.allow.securityGroups: ${bad.join(", ")}`,
  };
}

function ignored(named: readonly string[], canHave: boolean): Problem {
  return {
    code: "UnsupportedAnnotation",
    field: FIELD,
    value: named.join(","),
    allowed: canHave
      ? "nothing, unless the operator has set nlbSecurityGroupMode: Managed"
      : "nothing, because the load balancer was made without security groups, and AWS attaches none later",
  };
}
