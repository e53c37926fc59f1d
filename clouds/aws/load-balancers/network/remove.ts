import { awsAction } from "#clouds/aws/load-balancers/actions.ts";
import { belongingOf } from "#clouds/aws/load-balancers/belonging.ts";
import { ownGroups } from "#clouds/aws/load-balancers/network/groups.ts";
import { removeRules } from "#clouds/aws/load-balancers/network/node-rules.ts";
import { arnOf, ownTargetGroups } from "#clouds/aws/load-balancers/network/target-groups.ts";
import type { Whose } from "#clouds/aws/load-balancers/whose.ts";
import type { LoadBalancerAction, LoadBalancerStep, Problem } from "#core/service/model.ts";

/** Whether the load balancer of the derived name is a network load balancer that may be changed and deleted for the Service. */
export function isOwnBalancer({ state, owner }: Whose): boolean {
  if (state.network === undefined || state.network.loadBalancer.Type !== "network") return false;
  const belonging = belongingOf(state.network.tags, owner);
  // Nobody's tag is on it: then its name must be one that only a uid makes, or a tenant could name any.
  return belonging === "nobody" ? UUID.test(owner.uid) : belonging !== "another";
}

/** What a load balancer of the derived name that is somebody else's comes to. */
export function nameTaken({ state, name }: Whose): Problem {
  const arn = state.network?.loadBalancer.LoadBalancerArn;
  return {
    code: "NameTaken",
    detail: `${arn} has the name ${name} and is another cluster's by its tags, or no network load balancer`,
  };
}

/** Takes away all that is the Service's: the load balancer, then its target groups, rules on nodes and groups. */
export function planRemoval(whose: Whose): LoadBalancerStep {
  const { state, name, owner, parts } = whose;
  const balancer = isOwnBalancer(whose) ? state.network?.loadBalancer : undefined;
  if (state.network?.attributes["deletion_protection.enabled"] === "true" && balancer !== undefined)
    return { kind: "refused", problem: isProtected(balancer.LoadBalancerArn) };
  const rules = removeRules(whose);
  const first: LoadBalancerAction[] = [
    ...(balancer === undefined
      ? []
      : [awsAction("elbv2:DeleteLoadBalancer", name, { LoadBalancerArn: balancer.LoadBalancerArn })]),
    ...ownTargetGroups(whose).map(({ group }) =>
      awsAction("elbv2:DeleteTargetGroup", arnOf(group), { TargetGroupArn: arnOf(group) }),
    ),
    ...(rules.kind === "act" ? rules.actions : []),
  ];
  const groups = parts.planRemovedGroups({ owner, groupIds: ownGroups(whose) }, state.vpc);
  const [one, ...more] = [...first, ...(groups.kind === "act" ? groups.actions : [])];
  if (one !== undefined) {
    const because = { code: "Removing", message: "the network load balancer and what belongs to it go" };
    return { kind: "act", because, actions: [one, ...more] };
  }
  if (rules.kind === "refused") return rules;
  if (groups.kind === "refused") return groups;
  return { kind: "settled", ingress: [], warnings: [] };
}

function isProtected(arn: string | undefined): Problem {
  return {
    code: "DeletionProtected",
    detail: `${arn} has deletion protection: turn it off, or delete the load balancer by hand`,
  };
}

/** As the API server makes uids. */
const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;
