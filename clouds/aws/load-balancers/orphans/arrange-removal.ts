import { chunksOf } from "#clouds/aws/describe-instances.ts";
import { awsAction } from "#clouds/aws/load-balancers/actions.ts";
import { ORPHANED_TAG } from "#clouds/aws/load-balancers/orphans/tag.ts";
import { SERVICE_TAG } from "#clouds/aws/load-balancers/ownership.ts";
import type { AwsLoadBalancerState, Pairs } from "#clouds/aws/load-balancers/state.ts";
import { tagList } from "#clouds/aws/load-balancers/tags.ts";
import type { Holding } from "#core/service/holdings.ts";
import type { LoadBalancerAction } from "#core/service/model.ts";

/** AWS tags so many resources in a call. */
const MAX_TAGGED = 20;

/**
 * The actions of a removal in an order that may be cut short anywhere. No Service tells any more what was there: so what outlasts the load
 * balancer says first by its own tags whose it is, and rules that nothing but the load balancer's name tells go before it does. `groupIds`
 * are the security groups that were made for it.
 */
export function arrangeRemoval(
  actions: readonly LoadBalancerAction[],
  { service = "", mark }: Holding,
  state: AwsLoadBalancerState,
  groupIds: readonly string[],
): readonly LoadBalancerAction[] {
  const { revoking = [], others = [] } = Object.groupBy(actions, ({ action }) =>
    action === "ec2:RevokeSecurityGroupIngress" ? "revoking" : "others",
  );
  if (!others.some(({ action }) => action.endsWith(":DeleteLoadBalancer"))) return [...revoking, ...others];
  const tags = { [SERVICE_TAG]: service, ...(mark === undefined ? {} : { [ORPHANED_TAG]: mark }) };
  const lacks = (actual: Pairs): boolean =>
    Object.entries(tags).some(([key, value]) => actual[key] !== value);
  const groups = state.vpc.groups.flatMap(({ group: { GroupId: id = "" }, tags: actual }) =>
    groupIds.includes(id) && lacks(actual) ? [id] : [],
  );
  const targetGroups = state.targetGroups.flatMap(({ group, tags: actual }) =>
    lacks(actual) ? (group.TargetGroupArn ?? []) : [],
  );
  const Tags = tagList(tags);
  return [
    ...chunksOf(groups, MAX_TAGGED).map((ids) =>
      awsAction("ec2:CreateTags", ids.join(), { Resources: ids, Tags }),
    ),
    ...chunksOf(targetGroups, MAX_TAGGED).map((arns) =>
      awsAction("elbv2:AddTags", arns.join(), { ResourceArns: arns, Tags }),
    ),
    ...revoking,
    ...others,
  ];
}
