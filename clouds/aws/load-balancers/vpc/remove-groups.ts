import { awsAction } from "#clouds/aws/load-balancers/actions.ts";
import { isOwned } from "#clouds/aws/load-balancers/ownership.ts";
import type { PlanRemovedGroups } from "#clouds/aws/load-balancers/pieces.ts";
import { listHeldGroups } from "#clouds/aws/load-balancers/vpc/node-rules.ts";

/** Whatever a Service's security group is called, by us and by the stock controller. */
const NAME_PREFIX = "k8s-";

/**
 * Deletes those of the groups that are ours by tag and by name: a group of nodes may carry the cluster's tag, too, and an annotation
 * may have put it onto the load balancer. One that is still in use AWS refuses to delete, and it is tried again; one that a rule of a
 * foreign group names would never go, and the audit of orphans names it.
 */
export const planRemovedGroups: PlanRemovedGroups = ({ owner, identity, groupIds }, vpc) => {
  const held = listHeldGroups(vpc, identity);
  const ours = vpc.groups.filter(
    ({ group, tags }) =>
      !held.has(group.GroupId ?? "") &&
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
