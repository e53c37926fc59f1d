import { awsAction } from "#clouds/aws/load-balancers/actions.ts";
import { isOwned } from "#clouds/aws/load-balancers/ownership.ts";
import type { PlanFrontGroup } from "#clouds/aws/load-balancers/pieces.ts";
import type { Pairs } from "#clouds/aws/load-balancers/state.ts";
import { tagChanges, tagList, wantedTags } from "#clouds/aws/load-balancers/tags.ts";
import { permissionsOf, rulesOf, rulesOfOpenings, without } from "#clouds/aws/load-balancers/vpc/rules.ts";
import type { LoadBalancerAction } from "#core/service/model.ts";

/** A security group has room for so many rules of a family, unless the account was given more. */
const MAX_RULES = 60;

/**
 * The security group of ours on a load balancer: made where there is none of its name, with exactly the rules that are wanted. One
 * of that name that does not carry the cluster's tag is somebody else's, and stays as it is.
 */
export const planFrontGroup: PlanFrontGroup = ({ owner, name, description, openings }, vpc) => {
  const named = vpc.groups.filter(({ group }) => group.GroupName === name && group.VpcId === vpc.id);
  const found = named.find(({ tags }) => isOwned(tags, owner.clusterTag));
  const tags = wantedTags(owner);
  if (found === undefined) {
    const [foreign] = named;
    if (foreign !== undefined) {
      const detail = `security group ${foreign.group.GroupId} has the name ${name} and is not tagged kubernetes.io/cluster/${owner.clusterTag}: owned; give it that tag or another name`;
      return { kind: "refused", problem: { code: "NameTaken", detail } };
    }
    const request = {
      GroupName: name,
      Description: description,
      VpcId: vpc.id,
      TagSpecifications: [{ ResourceType: "security-group" as const, Tags: tagList(tags) }],
    };
    return { kind: "act", actions: [awsAction("ec2:CreateSecurityGroup", name, request)] };
  }
  const id = found.group.GroupId ?? "";
  const actual = rulesOf(found.ingress);
  const wanted = rulesOfOpenings(openings);
  const missing = without(wanted, actual);
  const surplus = without(actual, wanted);
  const add =
    missing.length === 0
      ? []
      : [
          awsAction("ec2:AuthorizeSecurityGroupIngress", id, {
            GroupId: id,
            IpPermissions: permissionsOf(missing),
          }),
        ];
  const remove =
    surplus.length === 0
      ? []
      : [
          awsAction("ec2:RevokeSecurityGroupIngress", id, {
            GroupId: id,
            IpPermissions: permissionsOf(surplus),
          }),
        ];
  // What stays open all the time is not closed in between, unless there is no room for both.
  const hasRoom = actual.length + missing.length <= MAX_RULES;
  const [first, ...more]: LoadBalancerAction[] = [
    ...(hasRoom ? [...add, ...remove] : [...remove, ...add]),
    ...tagActions(id, found.tags, tags),
  ];
  return first === undefined
    ? { kind: "ready", value: id }
    : { kind: "act", actions: [first, ...more], value: id };
};

function tagActions(id: string, actual: Pairs, wanted: Pairs): LoadBalancerAction[] {
  const { add, remove } = tagChanges(actual, wanted);
  const isEmpty = Object.keys(add).length === 0;
  const Tags = remove.map((Key) => ({ Key }));
  return [
    // First what goes: once the tag that says what was added no longer says so, it would stay.
    ...(remove.length === 0 ? [] : [awsAction("ec2:DeleteTags", id, { Resources: [id], Tags })]),
    ...(isEmpty ? [] : [awsAction("ec2:CreateTags", id, { Resources: [id], Tags: tagList(add) })]),
  ];
}
