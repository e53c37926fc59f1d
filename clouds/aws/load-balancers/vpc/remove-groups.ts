import { buildAction } from "#clouds/aws/load-balancers/actions.ts";
import { isOwned } from "#clouds/aws/load-balancers/ownership.ts";
import type { PlanRemovedGroups } from "#clouds/aws/load-balancers/types.ts";
import { listHeldGroups } from "#clouds/aws/load-balancers/vpc/node-rules.ts";

/** Prefix of names of Services' security groups, ours and the stock controller's. */
const NAME_PREFIX = "k8s-";

/**
 * Deletes the groups that are ours by tag and by name: a nodes' group may have the cluster's tag too, and an
 * annotation may have attached it. AWS refuses to delete a group in use, which is retried. A group that a
 * foreign group's rule names could never be deleted; the audit of orphans reports it.
 */
export const planRemovedGroups: PlanRemovedGroups = ({ owner, identity, groupIds }, vpc) => {
  const heldIds = listHeldGroups(vpc, identity);
  const removable = vpc.groups.filter(
    ({ group, tags }) =>
      !heldIds.has(group.GroupId ?? "") &&
      groupIds.includes(group.GroupId ?? "") &&
      group.GroupName?.startsWith(NAME_PREFIX) === true &&
      isOwned(tags, owner.clusterTag),
  );
  const [first, ...more] = removable.map(({ group }) =>
    buildAction("ec2:DeleteSecurityGroup", group.GroupId ?? "", { GroupId: group.GroupId }),
  );
  return first === undefined
    ? { kind: "ready", value: undefined }
    : { kind: "act", actions: [first, ...more] };
};
