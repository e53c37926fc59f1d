import { buildAction } from "#clouds/aws/load-balancers/actions.ts";
import { isOwned } from "#clouds/aws/load-balancers/ownership.ts";
import type { Pairs } from "#clouds/aws/load-balancers/state.ts";
import { buildServiceTags, planTagChanges, toTagList } from "#clouds/aws/load-balancers/tags.ts";
import type { PlanFrontendGroup, PlanGroupRemoval } from "#clouds/aws/load-balancers/types.ts";
import { listHeldGroups } from "#clouds/aws/load-balancers/vpc/node-rules.ts";
import {
  buildPermissions,
  buildRules,
  needsRemovalFirst,
  parsePermissions,
  subtractRules,
} from "#clouds/aws/load-balancers/vpc/rules.ts";
import type { LoadBalancerAction } from "#core/service/model.ts";

/**
 * Plans our security group on a load balancer: creates it if missing, with exactly the desired rules. A group
 * of that name without the cluster's tag belongs to others and stays unchanged.
 */
export const planFrontendGroup: PlanFrontendGroup = ({ owner, name, description, openings }, vpc) => {
  const named = vpc.groups.filter(({ group }) => group.GroupName === name && group.VpcId === vpc.id);
  const found = named.find(({ tags }) => isOwned(tags, owner.clusterTag));
  const tags = buildServiceTags(owner);
  if (found === undefined) {
    const [foreign] = named;
    if (foreign !== undefined) {
      const detail = `security group ${foreign.group.GroupId} has the name ${name} and is not tagged kubernetes.io/cluster/${owner.clusterTag}: owned; give it that tag or another name`;
      return { kind: "refused", issue: { code: "NameTaken", detail } };
    }
    const request = {
      GroupName: name,
      Description: description,
      VpcId: vpc.id,
      TagSpecifications: [{ ResourceType: "security-group" as const, Tags: toTagList(tags) }],
    };
    return { kind: "act", actions: [buildAction("ec2:CreateSecurityGroup", name, request)] };
  }
  const id = found.group.GroupId ?? "";
  const actual = parsePermissions(found.ingress);
  const desired = buildRules(openings);
  const missing = subtractRules(desired, actual);
  const surplus = subtractRules(actual, desired);
  const add =
    missing.length === 0
      ? []
      : [
          buildAction("ec2:AuthorizeSecurityGroupIngress", id, {
            GroupId: id,
            IpPermissions: buildPermissions(missing),
          }),
        ];
  const remove =
    surplus.length === 0
      ? []
      : [
          buildAction("ec2:RevokeSecurityGroupIngress", id, {
            GroupId: id,
            IpPermissions: buildPermissions(surplus),
          }),
        ];
  // Traffic that stays allowed is never interrupted, unless there is no room for both rules.
  const [first, ...more]: LoadBalancerAction[] = [
    ...(needsRemovalFirst(actual, missing, surplus) ? [...remove, ...add] : [...add, ...remove]),
    ...buildTagActions(id, found.tags, tags),
  ];
  return first === undefined
    ? { kind: "ready", value: id }
    : { kind: "act", actions: [first, ...more], value: id };
};

function buildTagActions(id: string, actual: Pairs, desired: Pairs): LoadBalancerAction[] {
  const { add, remove } = planTagChanges(actual, desired);
  const isEmpty = Object.keys(add).length === 0;
  const Tags = remove.map((Key) => ({ Key }));
  return [
    // Removed first: once the recording tag no longer names a tag, that tag would stay forever.
    ...(remove.length === 0 ? [] : [buildAction("ec2:DeleteTags", id, { Resources: [id], Tags })]),
    ...(isEmpty ? [] : [buildAction("ec2:CreateTags", id, { Resources: [id], Tags: toTagList(add) })]),
  ];
}

/** Prefix of names of Services' security groups, ours and the stock controller's. */
const NAME_PREFIX = "k8s-";

/**
 * Deletes the groups that are ours by tag and by name: a nodes' group may have the cluster's tag too, and an
 * annotation may have attached it. AWS refuses to delete a group in use, which is retried. A group that a
 * foreign group's rule names could never be deleted; the audit of orphans reports it.
 */
export const planGroupRemoval: PlanGroupRemoval = ({ owner, identity, groupIds }, vpc) => {
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
