import { awsAction } from "#clouds/aws/load-balancers/actions.ts";
import { isAllowed, isOwned } from "#clouds/aws/load-balancers/allowed.ts";
import { annotationName } from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import { allowedOf } from "#clouds/aws/load-balancers/configuration.ts";
import { managedGroupName } from "#clouds/aws/load-balancers/names.ts";
import type { NetworkContext } from "#clouds/aws/load-balancers/network/context.ts";
import { everybody, type Families } from "#clouds/aws/load-balancers/network/families.ts";
import type { Opening } from "#clouds/aws/load-balancers/pieces.ts";
import type { Whose } from "#clouds/aws/load-balancers/whose.ts";
import type { LoadBalancerAction, Problem } from "#core/service/model.ts";

/** The security groups on a load balancer itself. */
export type FrontGroups =
  | {
      readonly kind: "planned";
      readonly actions: readonly LoadBalancerAction[];
      /** Undefined while one is not made yet; none where AWS can attach none, or none is to be. */
      readonly ids: readonly string[] | undefined;
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
  const { wanted, configuration, state, owner, parts } = context;
  const existing = state.network?.loadBalancer.SecurityGroups ?? [];
  const own = ownGroups(context);
  const isManaged =
    configuration.nlbSecurityGroupMode === "Managed" || own.some((id) => existing.includes(id));
  const canHave = state.network === undefined || existing.length > 0;
  const named = wanted.annotations["security-groups"];
  if (!isManaged || !canHave) {
    return {
      kind: "planned",
      actions: [],
      ids: existing,
      obsolete: own.filter((id) => !existing.includes(id)),
      warnings: named === undefined ? [] : [ignored(named, canHave)],
    };
  }
  if (named !== undefined) {
    const problem = faultOfNamed(named, context);
    if (problem !== undefined) return { kind: "refused", problem };
    const obsolete = own.filter((id) => !named.includes(id));
    return { kind: "planned", actions: [], ids: named, obsolete, warnings: [] };
  }
  const front = parts.planFrontGroup(
    {
      owner,
      name: nameOf(context),
      description: "[k8s] Managed SecurityGroup for LoadBalancer",
      openings: openingsOf(context, families),
    },
    state.vpc,
  );
  if (front.kind === "refused") return front;
  return {
    kind: "planned",
    actions: front.kind === "act" ? front.actions : [],
    ids: front.value === undefined ? undefined : [front.value],
    obsolete: own.filter((id) => id !== front.value),
    warnings: [],
  };
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

function nameOf({ owner, uid, configuration }: Whose): string {
  const { namespace, name } = owner;
  return managedGroupName({ clusterName: configuration.clusterName ?? "kubernetes", namespace, name, uid });
}

/** What comes to the listeners, and what tells senders that their packets are too large. */
function openingsOf({ wanted }: NetworkContext, families: Families): readonly Opening[] {
  const ranges = (wanted.sourceRanges ?? everybody(families)).filter(
    (range) => families.loadBalancer === "dualstack" || !range.includes(":"),
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
  const ipv4 = ranges.filter((range) => !range.includes(":"));
  const ipv6 = ranges.filter((range) => range.includes(":"));
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
