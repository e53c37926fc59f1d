import type { AwsRequests } from "#clouds/aws/load-balancers/actions.ts";
import type { Pairs, SecurityGroupState, VpcState } from "#clouds/aws/load-balancers/state.ts";
import { toPairs } from "#clouds/aws/load-balancers/tags.ts";
import type { ApplyVpcResult } from "#clouds/aws/load-balancers/types.ts";
import { buildPermissions, parsePermissions, subtractRules } from "#clouds/aws/load-balancers/vpc/rules.ts";

/** Returns the VPC's state after an action, without reading it again. */
export const applyVpcResult: ApplyVpcResult = (vpc, { action, parameters }, result) => {
  switch (action) {
    case "ec2:CreateSecurityGroup": {
      const request = parameters as unknown as AwsRequests["ec2:CreateSecurityGroup"];
      const { GroupId } = result as { readonly GroupId?: string };
      const group = { GroupId, GroupName: request.GroupName, VpcId: request.VpcId };
      const tags = toPairs(request.TagSpecifications?.flatMap(({ Tags = [] }) => Tags));
      return { ...vpc, groups: [...vpc.groups, { group, tags, ingress: [] }] };
    }
    case "ec2:DeleteSecurityGroup": {
      const { GroupId: id } = parameters as unknown as AwsRequests["ec2:DeleteSecurityGroup"];
      return { ...vpc, groups: vpc.groups.filter(({ group }) => group.GroupId !== id) };
    }
    case "ec2:AuthorizeSecurityGroupIngress": {
      const { GroupId: id, IpPermissions: added = [] } =
        parameters as unknown as AwsRequests["ec2:AuthorizeSecurityGroupIngress"];
      return updateGroup(vpc, id, (state) => ({ ...state, ingress: [...state.ingress, ...added] }));
    }
    case "ec2:RevokeSecurityGroupIngress": {
      const { GroupId: id, IpPermissions: removed = [] } =
        parameters as unknown as AwsRequests["ec2:RevokeSecurityGroupIngress"];
      return updateGroup(vpc, id, (state) => ({
        ...state,
        ingress: buildPermissions(subtractRules(parsePermissions(state.ingress), parsePermissions(removed))),
      }));
    }
    case "ec2:CreateTags": {
      const { Resources: ids = [], Tags: tags = [] } = parameters as unknown as AwsRequests["ec2:CreateTags"];
      return ids.reduce(
        (folded, id) =>
          updateGroup(folded, id, (state) => ({ ...state, tags: { ...state.tags, ...toPairs(tags) } })),
        vpc,
      );
    }
    case "ec2:DeleteTags": {
      const { Resources: ids = [], Tags: tags = [] } = parameters as unknown as AwsRequests["ec2:DeleteTags"];
      const keys = new Set(tags.map(({ Key: key }) => key));
      const removeKeys = (pairs: Pairs): Pairs =>
        Object.fromEntries(Object.entries(pairs).filter(([key]) => !keys.has(key)));
      return ids.reduce(
        (folded, id) => updateGroup(folded, id, (state) => ({ ...state, tags: removeKeys(state.tags) })),
        vpc,
      );
    }
    default:
      return vpc;
  }
};

function updateGroup(
  vpc: VpcState,
  id: string | undefined,
  change: (state: SecurityGroupState) => SecurityGroupState,
): VpcState {
  return { ...vpc, groups: vpc.groups.map((state) => (state.group.GroupId === id ? change(state) : state)) };
}
