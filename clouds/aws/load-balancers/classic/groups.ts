import { annotationName } from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import type { ClassicContext } from "#clouds/aws/load-balancers/classic/context.ts";
import type { ClassicWanted } from "#clouds/aws/load-balancers/classic/wanted.ts";
import { isAllowed, isOwned } from "#clouds/aws/load-balancers/ownership.ts";
import type { Opening, Piece } from "#clouds/aws/load-balancers/pieces.ts";
import { planFrontGroup } from "#clouds/aws/load-balancers/vpc/front-group.ts";
import type { Problem } from "#core/service/model.ts";

/**
 * Which security groups a load balancer is to have: those of the annotation, or else the configured one, or else one of its own; and
 * the extra ones; the first is let in on the nodes. Only its own is ever made or changed.
 */
export function planGroups(context: ClassicContext, wanted: ClassicWanted): Piece<readonly string[]> {
  const { annotations } = wanted;
  const problem =
    faultOf(context, "security-groups", annotations["security-groups"]) ??
    faultOf(context, "extra-security-groups", annotations["extra-security-groups"]);
  if (problem !== undefined) return { kind: "refused", problem };
  const extra = annotations["extra-security-groups"] ?? [];
  const instead = annotations["security-groups"] ?? configured(context);
  const [first, ...others] = instead;
  const count = new Set([...instead, ...extra]).size + (first === undefined ? 1 : 0);
  if (count > MAX_GROUPS) return { kind: "refused", problem: tooMany(extra) };
  if (first !== undefined) return ready(first, [...others, ...extra]);
  const front = planFrontGroup(
    {
      owner: { ...context.owner, additionalTags: annotations["additional-resource-tags"] ?? {} },
      name: context.groupName,
      description: `Security group for Kubernetes ELB ${context.name} (${context.owner.namespace}/${context.owner.name})`,
      openings: openingsOf(wanted),
    },
    context.state.vpc,
  );
  if (front.kind === "ready") return ready(front.value, extra);
  return front.kind === "act" ? { kind: "act", actions: front.actions } : front;
}

/** The security groups of the load balancer's own, by the name and tag that the stock controller gives them, too. */
export function ownGroupIds({ state, groupName, owner }: ClassicContext): readonly string[] {
  return state.vpc.groups
    .filter(({ group, tags }) => group.GroupName === groupName && isOwned(tags, owner.clusterTag))
    .flatMap(({ group }) => group.GroupId ?? []);
}

/** AWS attaches at most five. */
const MAX_GROUPS = 5;

function ready(first: string, others: readonly string[]): Piece<readonly string[]> {
  const rest = [...new Set(others)].filter((id) => id !== first);
  return { kind: "ready", value: [first, ...rest] };
}

function configured({ configuration }: ClassicContext): readonly string[] {
  return configuration.elbSecurityGroup === undefined ? [] : [configuration.elbSecurityGroup];
}

/** Each port to each network, and what tells clients how large packets may be. */
function openingsOf({ listeners, sourceRanges }: ClassicWanted): readonly Opening[] {
  const ports = listeners.map(({ LoadBalancerPort: port = 0 }): Opening => {
    return { protocol: "tcp", ports: [port, port], cidrs: sourceRanges };
  });
  return [...ports, { protocol: "icmp", ports: [3, 4], cidrs: sourceRanges }];
}

/** Why groups that an annotation names cannot be used: one is not there, or is another cluster's. */
function faultOf(
  { state, owner, allow }: ClassicContext,
  suffix: "security-groups" | "extra-security-groups",
  ids: readonly string[] | undefined,
): Problem | undefined {
  for (const id of ids ?? []) {
    const found = state.vpc.groups.find(({ group }) => group.GroupId === id && group.VpcId === state.vpc.id);
    const detail =
      found === undefined
        ? `security group ${id} is not in ${state.vpc.id}`
        : `security group ${id} is neither tagged kubernetes.io/cluster/${owner.clusterTag} nor in cloud.allow.securityGroups`;
    const isUsable =
      found !== undefined &&
      isAllowed("securityGroups", { id, tags: found.tags }, { clusterTag: owner.clusterTag, allow });
    if (!isUsable)
      return { code: "SecurityGroupNotAllowed", field: annotationName(suffix), value: ids?.join(), detail };
  }
  return undefined;
}

function tooMany(extra: readonly string[]): Problem {
  return {
    code: "InvalidAnnotation",
    field: annotationName("extra-security-groups"),
    value: extra.join(),
    allowed: `security groups of which the load balancer has ${MAX_GROUPS} in all, its own or those of ${annotationName("security-groups")} among them`,
  };
}
