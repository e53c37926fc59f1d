import { formatAnnotationName } from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import type { ClassicContext } from "#clouds/aws/load-balancers/classic/context.ts";
import type { ClassicDesiredState } from "#clouds/aws/load-balancers/classic/desired-state.ts";
import { describeNotAllowed, isAllowed, isOwned } from "#clouds/aws/load-balancers/ownership.ts";
import type { Opening, PlanResult } from "#clouds/aws/load-balancers/types.ts";
import { planFrontendGroup } from "#clouds/aws/load-balancers/vpc/frontend-group.ts";
import type { Issue } from "#core/service/model.ts";

/**
 * Plans the security groups of a load balancer: those of the annotation, else the configured one, else one of
 * its own; plus the extra ones. Nodes allow the first one. Only its own group is ever created or changed.
 */
export function planGroups(
  context: ClassicContext,
  desired: ClassicDesiredState,
): PlanResult<readonly string[]> {
  const { annotations } = desired;
  const issue =
    checkNamedGroups(context, "security-groups", annotations["security-groups"]) ??
    checkNamedGroups(context, "extra-security-groups", annotations["extra-security-groups"]);
  if (issue !== undefined) return { kind: "refused", issue };
  const extra = annotations["extra-security-groups"] ?? [];
  const explicitIds = annotations["security-groups"] ?? listConfiguredGroups(context);
  const [first, ...others] = explicitIds;
  const count = new Set([...explicitIds, ...extra]).size + (first === undefined ? 1 : 0);
  if (count > MAX_GROUPS) return { kind: "refused", issue: buildTooManyIssue(extra) };
  if (first !== undefined) return buildReady(first, [...others, ...extra]);
  const front = planFrontendGroup(
    {
      owner: { ...context.owner, additionalTags: annotations["additional-resource-tags"] ?? {} },
      name: context.groupName,
      description: `Security group for Kubernetes ELB ${context.name} (${context.owner.namespace}/${context.owner.name})`,
      openings: buildOpenings(desired),
    },
    context.state.vpc,
  );
  if (front.kind === "ready") return buildReady(front.value, extra);
  return front.kind === "act" ? { kind: "act", actions: front.actions } : front;
}

/** Lists the security groups of the load balancer's own, by name and tag as in the stock controller. */
export function listOwnGroupIds({ state, groupName, owner }: ClassicContext): readonly string[] {
  return state.vpc.groups
    .filter(({ group, tags }) => group.GroupName === groupName && isOwned(tags, owner.clusterTag))
    .flatMap(({ group }) => group.GroupId ?? []);
}

/** AWS attaches at most five groups to a load balancer. */
const MAX_GROUPS = 5;

function buildReady(first: string, others: readonly string[]): PlanResult<readonly string[]> {
  const otherIds = [...new Set(others)].filter((id) => id !== first);
  return { kind: "ready", value: [first, ...otherIds] };
}

function listConfiguredGroups({ configuration }: ClassicContext): readonly string[] {
  return configuration.elbSecurityGroup === undefined ? [] : [configuration.elbSecurityGroup];
}

/** Opens each port to each network, and lets path MTU messages reach the load balancer. */
function buildOpenings({ listeners, sourceRanges }: ClassicDesiredState): readonly Opening[] {
  const ports = listeners.map(({ LoadBalancerPort: port = 0 }): Opening => {
    return { protocol: "tcp", ports: [port, port], cidrs: sourceRanges };
  });
  return [...ports, { protocol: "icmp", ports: [3, 4], cidrs: sourceRanges }];
}

/**
 * Returns why groups that an annotation names cannot be used: one is missing, or belongs to another cluster.
 */
function checkNamedGroups(
  { state, owner, allow }: ClassicContext,
  suffix: "security-groups" | "extra-security-groups",
  ids: readonly string[] | undefined,
): Issue | undefined {
  for (const id of ids ?? []) {
    const found = state.vpc.groups.find(({ group }) => group.GroupId === id && group.VpcId === state.vpc.id);
    const detail =
      found === undefined
        ? `security group ${id} is not in ${state.vpc.id}`
        : `security group ${id} is ${describeNotAllowed(owner.clusterTag, "securityGroups")}`;
    const isUsable =
      found !== undefined &&
      isAllowed("securityGroups", { id, tags: found.tags }, { clusterTag: owner.clusterTag, allow });
    if (!isUsable)
      return {
        code: "SecurityGroupNotAllowed",
        field: formatAnnotationName(suffix),
        value: ids?.join(),
        detail,
      };
  }
  return undefined;
}

function buildTooManyIssue(extra: readonly string[]): Issue {
  return {
    code: "InvalidAnnotation",
    field: formatAnnotationName("extra-security-groups"),
    value: extra.join(),
    allowed: `at most ${MAX_GROUPS} security groups in total, with its own or those of ${formatAnnotationName("security-groups")}`,
  };
}
