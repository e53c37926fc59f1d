import { awsAction } from "#clouds/aws/load-balancers/actions.ts";
import { isOwned } from "#clouds/aws/load-balancers/allowed.ts";
import type { PlanRemovedGroups } from "#clouds/aws/load-balancers/pieces.ts";

/** Whatever a Service's security group is called, by us and by the stock controller. */
const NAME_PREFIX = "k8s-";

/**
 * Deletes those of the groups that are ours by tag and by name: a group of nodes may carry the cluster's tag, too, and an annotation
 * may have put it onto the load balancer. One that is still in use AWS refuses to delete, and it is tried again.
 */
export const planRemovedGroups: PlanRemovedGroups = ({ owner, groupIds }, vpc) => {
  const ours = vpc.groups.filter(
    ({ group, tags }) =>
      groupIds.includes(group.GroupId ?? "") &&
      group.GroupName?.startsWith(NAME_PREFIX) === true &&
      isOwned(tags, owner.clusterTag),
  );
  const [first, ...more] = ours.map(({ group }) =>
    awsAction("ec2:DeleteSecurityGroup", group.GroupId ?? "", { GroupId: group.GroupId }),
  );
  return first === undefined
    ? { kind: "ready", value: undefined }
    : { kind: "act", actions: [first, ...more] };
};
