import type { IpPermission } from "@aws-sdk/client-ec2";
import type { AwsRequests } from "#clouds/aws/load-balancers/actions.ts";
import type { SecurityGroupState } from "#clouds/aws/load-balancers/state.ts";
import { buildPermissions, formatRuleKey, parsePermissions } from "#clouds/aws/load-balancers/vpc/rules.ts";

/** AWS's rejection, by its code. */
export class Refusal extends Error {
  readonly code: string;
  constructor(code: string, message = "") {
    super(`${code} ${message}`);
    this.code = code;
  }
}

/** The security groups of a VPC, with EC2's rejections. */
export class FakeGroups {
  readonly groups = new Map<string, SecurityGroupState>();
  /** Whether Elastic Load Balancing still uses a group. */
  isAttached: (id: string) => boolean = () => false;
  #made = 0;

  add(
    id: string,
    name: string,
    tags: Record<string, string> = {},
    ingress: readonly IpPermission[] = [],
  ): void {
    this.groups.set(id, { group: { GroupId: id, GroupName: name, VpcId: "vpc-1" }, tags, ingress });
  }

  create({ GroupName = "", VpcId, TagSpecifications = [] }: AwsRequests["ec2:CreateSecurityGroup"]): object {
    if (VpcId !== "vpc-1") throw new Refusal("InvalidVpcID.NotFound");
    if ([...this.groups.values()].some(({ group }) => group.GroupName === GroupName))
      throw new Refusal("InvalidGroup.Duplicate", GroupName);
    this.#made += 1;
    const id = `sg-made${this.#made}`;
    const tags = TagSpecifications.flatMap(({ Tags = [] }) => Tags);
    this.add(id, GroupName, Object.fromEntries(tags.map(({ Key = "", Value = "" }) => [Key, Value])));
    return { GroupId: id };
  }

  delete({ GroupId: id = "" }: AwsRequests["ec2:DeleteSecurityGroup"]): object {
    this.#get(id);
    const isReferenced = [...this.groups.values()].some(
      ({ group, ingress }) =>
        group.GroupId !== id && parsePermissions(ingress).some(({ peer }) => peer === id),
    );
    if (isReferenced || this.isAttached(id)) throw new Refusal("DependencyViolation", id);
    this.groups.delete(id);
    return {};
  }

  authorize({
    GroupId: id = "",
    IpPermissions = [],
  }: AwsRequests["ec2:AuthorizeSecurityGroupIngress"]): object {
    const state = this.#get(id);
    const [before, added] = [parsePermissions(state.ingress), parsePermissions(IpPermissions)];
    const known = new Set(before.map(formatRuleKey));
    if (added.length === 0) throw new Refusal("InvalidParameterValue", "no rules");
    if (added.some((rule) => known.has(formatRuleKey(rule))))
      throw new Refusal("InvalidPermission.Duplicate");
    for (const { from, peer } of added) if (from === "group") this.#get(peer);
    if (before.length + added.length > 60) throw new Refusal("RulesPerSecurityGroupLimitExceeded");
    this.groups.set(id, { ...state, ingress: buildPermissions([...before, ...added]) });
    return {};
  }

  revoke({ GroupId: id = "", IpPermissions = [] }: AwsRequests["ec2:RevokeSecurityGroupIngress"]): object {
    const state = this.#get(id);
    const gone = new Set(parsePermissions(IpPermissions).map(formatRuleKey));
    const left = parsePermissions(state.ingress).filter((rule) => !gone.has(formatRuleKey(rule)));
    if (left.length + gone.size !== parsePermissions(state.ingress).length)
      throw new Refusal("InvalidPermission.NotFound");
    this.groups.set(id, { ...state, ingress: buildPermissions(left) });
    return {};
  }

  tag({ Resources = [], Tags = [] }: AwsRequests["ec2:CreateTags"]): object {
    for (const id of Resources) {
      const state = this.#get(id);
      const added = Object.fromEntries(Tags.map(({ Key = "", Value = "" }) => [Key, Value]));
      this.groups.set(id, { ...state, tags: { ...state.tags, ...added } });
    }
    return {};
  }

  untag({ Resources = [], Tags = [] }: AwsRequests["ec2:DeleteTags"]): object {
    for (const id of Resources) {
      const state = this.#get(id);
      const gone = new Set(Tags.map(({ Key }) => Key));
      const left = Object.entries(state.tags).filter(([key]) => !gone.has(key));
      this.groups.set(id, { ...state, tags: Object.fromEntries(left) });
    }
    return {};
  }

  #get(id: string): SecurityGroupState {
    const state = this.groups.get(id);
    if (state === undefined) throw new Refusal("InvalidGroup.NotFound", id);
    return state;
  }
}
