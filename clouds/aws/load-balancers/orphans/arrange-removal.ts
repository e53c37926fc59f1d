import { splitIntoChunks } from "#clouds/aws/describe-instances.ts";
import { buildAction } from "#clouds/aws/load-balancers/actions.ts";
import { ORPHANED_TAG } from "#clouds/aws/load-balancers/orphans/tag.ts";
import { SERVICE_TAG } from "#clouds/aws/load-balancers/ownership.ts";
import type { AwsLoadBalancerState, Pairs } from "#clouds/aws/load-balancers/state.ts";
import { toTagList } from "#clouds/aws/load-balancers/tags.ts";
import type { Holding } from "#core/service/holdings.ts";
import type { LoadBalancerAction } from "#core/service/model.ts";

/** AWS's maximum of resources per tagging request. */
const MAX_TAGGED = 20;

/**
 * Orders the actions of a removal so that it can be interrupted anywhere: no Service records the resources
 * any more. Resources that outlive the load balancer get tags that name their owner first. Rules that only
 * the load balancer's name identifies are removed before it. `groupIds` are the security groups created for
 * it.
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
  const needsTags = (actual: Pairs): boolean =>
    Object.entries(tags).some(([key, value]) => actual[key] !== value);
  const groups = state.vpc.groups.flatMap(({ group: { GroupId: id = "" }, tags: actual }) =>
    groupIds.includes(id) && needsTags(actual) ? [id] : [],
  );
  const targetGroups = state.targetGroups.flatMap(({ group, tags: actual }) =>
    needsTags(actual) ? (group.TargetGroupArn ?? []) : [],
  );
  const Tags = toTagList(tags);
  return [
    ...splitIntoChunks(groups, MAX_TAGGED).map((ids) =>
      buildAction("ec2:CreateTags", ids.join(), { Resources: ids, Tags }),
    ),
    ...splitIntoChunks(targetGroups, MAX_TAGGED).map((arns) =>
      buildAction("elbv2:AddTags", arns.join(), { ResourceArns: arns, Tags }),
    ),
    ...revoking,
    ...others,
  ];
}
