import { buildAction } from "#clouds/aws/load-balancers/actions.ts";
import type { ClassicContext } from "#clouds/aws/load-balancers/classic/context.ts";
import { listOwnGroupIds } from "#clouds/aws/load-balancers/classic/groups.ts";
import { isNameForeign, isOwnLoadBalancer } from "#clouds/aws/load-balancers/ownership.ts";
import { planGroupRemoval } from "#clouds/aws/load-balancers/vpc/frontend-group.ts";
import { planNodeRules } from "#clouds/aws/load-balancers/vpc/node-rules.ts";
import type { LoadBalancerAction, LoadBalancerStep } from "#core/service/model.ts";

/**
 * Removes a Service's classic load balancer: its rules on the nodes, then itself, then its security group,
 * which AWS keeps while it is in use. Resources of others are not touched.
 */
export function removeClassic(context: ClassicContext): LoadBalancerStep {
  const { state, owner, name, configuration, allow } = context;
  // The uid belongs to another owner: no name derived from it is ours to read.
  if (isNameForeign(state, owner, configuration)) return NOTHING_LEFT;
  const groupIds = listOwnGroupIds(context);
  const rules = planNodeRules(
    {
      disabled: configuration.disableSecurityGroupIngress === true,
      clusterTag: owner.clusterTag,
      allow,
      instanceIds: [],
      openings: [],
      ownRules: { descriptions: [], groupIds },
    },
    state.vpc,
  );
  if (rules.kind === "refused") return rules;
  const ruleRemovals = rules.kind === "act" ? rules.actions : [];
  const [first, ...more] = isOwnClassicBalancer(context)
    ? [...ruleRemovals, buildDelete(name)]
    : ruleRemovals;
  if (first !== undefined)
    return {
      kind: "act",
      because: { code: "Deleting", message: `the load balancer ${name} is deleted` },
      actions: [first, ...more],
    };
  const identity = { clusterTag: owner.clusterTag, allow };
  const groups = planGroupRemoval({ owner, identity, groupIds }, state.vpc);
  if (groups.kind === "refused") return groups;
  if (groups.kind === "act")
    return {
      kind: "act",
      because: { code: "DeletingSecurityGroups", message: `the security groups of ${name} are deleted` },
      actions: groups.actions,
    };
  return NOTHING_LEFT;
}

const NOTHING_LEFT: LoadBalancerStep = { kind: "settled", ingress: [], warnings: [] };

/** Whether the load balancer of the Service's derived name exists and may be changed for the Service. */
export function isOwnClassicBalancer({ state: { classic }, owner, configuration }: ClassicContext): boolean {
  if (classic === undefined) return false;
  return isOwnLoadBalancer({ tags: classic.tags, vpc: classic.loadBalancer.VPCId }, owner, configuration);
}

function buildDelete(name: string): LoadBalancerAction {
  return buildAction("elb:DeleteLoadBalancer", name, { LoadBalancerName: name });
}
