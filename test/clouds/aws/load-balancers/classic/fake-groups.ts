import type { IpPermission } from "@aws-sdk/client-ec2";
import type { AwsRequests } from "#clouds/aws/load-balancers/actions.ts";
import type { SecurityGroupState } from "#clouds/aws/load-balancers/state.ts";
import { keyOf, permissionsOf, rulesOf } from "#clouds/aws/load-balancers/vpc/rules.ts";

/** What AWS refuses, by its code. */
export class Refusal extends Error {
  readonly code: string;
  constructor(code: string, message = "") {
    super(`${code} ${message}`);
    this.code = code;
  }
}

/** The security groups of a VPC, with what EC2 refuses of them. */
export class FakeGroups {
  readonly groups = new Map<string, SecurityGroupState>();
  /** Whether something of Elastic Load Balancing still uses a group. */
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
      ({ group, ingress }) => group.GroupId !== id && rulesOf(ingress).some(({ peer }) => peer === id),
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
    const [before, added] = [rulesOf(state.ingress), rulesOf(IpPermissions)];
    const known = new Set(before.map(keyOf));
    if (added.length === 0) throw new Refusal("InvalidParameterValue", "no rules");
    if (added.some((rule) => known.has(keyOf(rule)))) throw new Refusal("InvalidPermission.Duplicate");
    for (const { from, peer } of added) if (from === "group") this.#get(peer);
    if (before.length + added.length > 60) throw new Refusal("RulesPerSecurityGroupLimitExceeded");
    this.groups.set(id, { ...state, ingress: permissionsOf([...before, ...added]) });
    return {};
  }

  revoke({ GroupId: id = "", IpPermissions = [] }: AwsRequests["ec2:RevokeSecurityGroupIngress"]): object {
    const state = this.#get(id);
    const gone = new Set(rulesOf(IpPermissions).map(keyOf));
    const left = rulesOf(state.ingress).filter((rule) => !gone.has(keyOf(rule)));
    if (left.length + gone.size !== rulesOf(state.ingress).length)
      throw new Refusal("InvalidPermission.NotFound");
    this.groups.set(id, { ...state, ingress: permissionsOf(left) });
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
