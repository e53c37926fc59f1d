import type { Parameters } from "#emulators/ec2/parameters.ts";
import { type Answer, type Call, faultOf, resultOf, succeeded } from "../call.ts";
import { type Behind, filterForm, type Mends, type Next } from "../mend.ts";
import { child, descendants, listOf, setChild, textOf, type XmlElement } from "../xml.ts";

/** Security groups: who uses one, and rules that are added and taken away all or none. */
export const SECURITY_GROUPS: Mends = {
  byOperation: {
    "ec2:DeleteSecurityGroup": async (call, next, behind) => {
      const id = call.parameters.text("GroupId");
      const user = id === undefined ? undefined : await userOf(id, behind);
      if (user === undefined) return next(call);
      return faultOf(call, "DependencyViolation", `resource ${id} has a dependent object (${user})`);
    },
    "ec2:AuthorizeSecurityGroupIngress": async (call, next, behind) => {
      const known = await rulesOn(call.parameters.text("GroupId") ?? "", behind);
      const twice = rulesIn(call).find((rule, index, all) => known.has(rule) || all.indexOf(rule) !== index);
      if (twice === undefined) return next(call);
      return faultOf(call, "InvalidPermission.Duplicate", `the specified rule "${twice}" already exists`);
    },
    "ec2:RevokeSecurityGroupIngress": async (call, next, behind) => {
      const known = await rulesOn(call.parameters.text("GroupId") ?? "", behind);
      const missing = rulesIn(call).find((rule) => !known.has(rule));
      if (missing === undefined) return next(call);
      return faultOf(
        call,
        "InvalidPermission.NotFound",
        `The specified rule "${missing}" does not exist in this security group`,
      );
    },
    "ec2:DescribeInstances": (call, next) => groupsOfInstances(call, next),
  },
};

// An instance's security groups are those of its primary interface, however it was launched.
async function groupsOfInstances(call: Call, next: Next): Promise<Answer> {
  const answer = await next(call);
  if (!succeeded(answer)) return answer;
  for (const instance of descendants(resultOf(answer), "instancesSet").flatMap(({ children }) => children)) {
    const interfaces = listOf(instance, "networkInterfaceSet");
    const primary = interfaces.find((each) => textOf(child(each, "attachment"), "deviceIndex") === "0");
    if (listOf(instance, "groupSet").length === 0 && primary !== undefined)
      setChild(instance, "groupSet", listOf(primary, "groupSet"));
  }
  return answer;
}

/** Rules as a text each; what they are described with does not tell them apart. */
function rulesIn(call: Call): string[] {
  return call.parameters.structures("IpPermissions").flatMap((permission) => {
    const what = [permission.text("IpProtocol"), permission.text("FromPort"), permission.text("ToPort")];
    const peers = [
      ...texts(permission.structures("IpRanges"), "CidrIp"),
      ...texts(permission.structures("Ipv6Ranges"), "CidrIpv6"),
      ...texts(permission.structures("PrefixListIds"), "PrefixListId"),
      ...texts(permission.structures("Groups"), "GroupId"),
    ];
    return peers.map((peer) => ruleText(what, peer));
  });
}

function texts(structures: readonly Parameters[], name: string): string[] {
  return structures.map((each) => each.text(name) ?? "");
}

async function rulesOn(groupId: string, behind: Behind): Promise<ReadonlySet<string>> {
  const found = await behind.ask("ec2", "DescribeSecurityGroups", filterForm("group-id", [groupId]));
  const permissions = listOf(listOf(found, "securityGroupInfo").at(0), "ipPermissions");
  return new Set(
    permissions.flatMap((permission) => {
      const what = [
        textOf(permission, "ipProtocol"),
        textOf(permission, "fromPort"),
        textOf(permission, "toPort"),
      ];
      const peers = [
        ...listOf(permission, "ipRanges").map((each) => textOf(each, "cidrIp")),
        ...listOf(permission, "ipv6Ranges").map((each) => textOf(each, "cidrIpv6")),
        ...listOf(permission, "prefixListIds").map((each) => textOf(each, "prefixListId")),
        ...listOf(permission, "groups").map((each) => textOf(each, "groupId")),
      ];
      return peers.map((peer) => ruleText(what, peer));
    }),
  );
}

function ruleText([protocol, from, to]: readonly (string | undefined)[], peer: string | undefined): string {
  return protocol === "-1"
    ? `peer: ${peer}, ALL`
    : `peer: ${peer}, ${protocol}, from port: ${from}, to port: ${to}`;
}

/** What a security group cannot be deleted for: interfaces, load balancers, and rules of other groups. */
async function userOf(id: string, behind: Behind): Promise<string | undefined> {
  const interfaces = await behind.ask("ec2", "DescribeNetworkInterfaces", {});
  const eni = listOf(interfaces, "networkInterfaceSet").find((each) => groupIds(each).includes(id));
  if (eni !== undefined) return textOf(eni, "networkInterfaceId");
  const network = await behind.ask("elbv2", "DescribeLoadBalancers", { PageSize: "100000" });
  const classic = await behind.ask("elb", "DescribeLoadBalancers", { PageSize: "100000" });
  const balancers = [...listOf(network, "LoadBalancers"), ...listOf(classic, "LoadBalancerDescriptions")];
  const balancer = balancers.find((each) =>
    listOf(each, "SecurityGroups").some(({ text }) => text.trim() === id),
  );
  if (balancer !== undefined) return textOf(balancer, "LoadBalancerName");
  const groups = listOf(await behind.ask("ec2", "DescribeSecurityGroups", {}), "securityGroupInfo");
  const naming = groups.find(
    (each) =>
      textOf(each, "groupId") !== id &&
      listOf(each, "ipPermissions").some((rule) => groupsIn(rule).includes(id)),
  );
  return naming === undefined ? undefined : `a rule of ${textOf(naming, "groupId")}`;
}

function groupIds(of: XmlElement): (string | undefined)[] {
  return listOf(of, "groupSet").map((each) => textOf(each, "groupId"));
}

function groupsIn(rule: XmlElement): (string | undefined)[] {
  return listOf(rule, "groups").map((each) => textOf(each, "groupId"));
}
