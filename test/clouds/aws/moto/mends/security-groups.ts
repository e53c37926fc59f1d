import type { Parameters } from "#emulators/ec2/parameters.ts";
import {
  type Answer,
  buildFault,
  type Call,
  getResult,
  hasSucceeded,
  removeList,
  replaceParameters,
} from "../call.ts";
import { type Behind, buildFilterForm, listForm, type Mends, type Next } from "../mend.ts";
import { findChild, findText, listDescendants, listMembers, setChild, type XmlElement } from "../xml.ts";

/** Mends of security groups: their users, and rules that a call adds or removes all or none. */
export const SECURITY_GROUPS: Mends = {
  byOperation: {
    "ec2:DeleteSecurityGroup": async (call, next, behind) => {
      const id = call.parameters.text("GroupId");
      const user = id === undefined ? undefined : await userOf(id, behind);
      if (user === undefined) return next(call);
      return buildFault(call, "DependencyViolation", `resource ${id} has a dependent object (${user})`);
    },
    "ec2:AuthorizeSecurityGroupIngress": async (call, next, behind) => {
      const known = await rulesOn(call.parameters.text("GroupId") ?? "", behind);
      const twice = rulesIn(call).find((rule, index, all) => known.has(rule) || all.indexOf(rule) !== index);
      if (twice === undefined) return next(call);
      return buildFault(call, "InvalidPermission.Duplicate", `the specified rule "${twice}" already exists`);
    },
    "ec2:RevokeSecurityGroupIngress": async (call, next, behind) => {
      const known = await rulesOn(call.parameters.text("GroupId") ?? "", behind);
      const asked = rulesIn(call);
      const missing = asked.find((rule) => !known.has(rule));
      // By their IDs: moto also compares the description of a rule about a group.
      if (missing === undefined && asked.length > 0)
        return next(
          replaceParameters(
            removeList(call, "IpPermissions"),
            listForm(
              "SecurityGroupRuleId",
              asked.map((rule) => known.get(rule) ?? ""),
            ),
          ),
        );
      if (missing === undefined) return next(call);
      return buildFault(
        call,
        "InvalidPermission.NotFound",
        `The specified rule "${missing}" does not exist in this security group`,
      );
    },
    // Moto does not find a rule about a group with another description: the mend replaces the rule.
    "ec2:UpdateSecurityGroupRuleDescriptionsIngress": async (call, next, behind) => {
      const isOfGroup = call.parameters
        .structures("IpPermissions")
        .some((permission) => permission.structures("Groups").length > 0);
      if (!isOfGroup) return next(call);
      const GroupId = call.parameters.text("GroupId") ?? "";
      const known = await rulesOn(GroupId, behind);
      const asked = rulesIn(call);
      const missing = asked.find((rule) => !known.has(rule));
      if (missing !== undefined)
        return buildFault(
          call,
          "InvalidPermission.NotFound",
          `The specified rule "${missing}" does not exist`,
        );
      const ids = asked.map((rule) => known.get(rule) ?? "");
      await behind.ask("ec2", "RevokeSecurityGroupIngress", {
        GroupId,
        ...listForm("SecurityGroupRuleId", ids),
      });
      const permissions = Object.entries(call.form).filter(([name]) => name.startsWith("IpPermissions."));
      await behind.ask("ec2", "AuthorizeSecurityGroupIngress", {
        GroupId,
        ...Object.fromEntries(permissions),
      });
      return next(call);
    },
    "ec2:DescribeNetworkInterfaces": async (call, next, behind) => {
      const answer = await next(call);
      if (!hasSucceeded(answer)) return answer;
      const there = new Set(
        (await interfacesThere(behind)).map((each) => findText(each, "networkInterfaceId")),
      );
      const shown = listMembers(getResult(answer), "networkInterfaceSet").filter((each) =>
        there.has(findText(each, "networkInterfaceId")),
      );
      setChild(getResult(answer), "networkInterfaceSet", shown);
      return answer;
    },
    "ec2:DescribeInstances": (call, next) => groupsOfInstances(call, next),
  },
};

// Returns an instance's security groups from its primary interface, for every way of launch.
async function groupsOfInstances(call: Call, next: Next): Promise<Answer> {
  const answer = await next(call);
  if (!hasSucceeded(answer)) return answer;
  for (const instance of listDescendants(getResult(answer), "instancesSet").flatMap(
    ({ children }) => children,
  )) {
    const interfaces = listMembers(instance, "networkInterfaceSet");
    const primary = interfaces.find((each) => findText(findChild(each, "attachment"), "deviceIndex") === "0");
    if (listMembers(instance, "groupSet").length === 0 && primary !== undefined)
      setChild(instance, "groupSet", listMembers(primary, "groupSet"));
  }
  return answer;
}

/** Returns rules as a text each; descriptions make no difference. */
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

/** Returns the IDs of a group's rules, by their content. */
async function rulesOn(groupId: string, behind: Behind): Promise<ReadonlyMap<string, string>> {
  const found = await behind
    .ask("ec2", "DescribeSecurityGroupRules", buildFilterForm("group-id", [groupId]))
    .catch(() => undefined);
  const rules = listMembers(found, "securityGroupRuleSet").filter(
    (each) => findText(each, "isEgress") !== "true",
  );
  return new Map(
    rules.map((rule) => {
      const what = [findText(rule, "ipProtocol"), findText(rule, "fromPort"), findText(rule, "toPort")];
      const peer =
        findText(rule, "cidrIpv4") ??
        findText(rule, "cidrIpv6") ??
        findText(rule, "prefixListId") ??
        findText(findChild(rule, "referencedGroupInfo"), "groupId");
      return [ruleText(what, peer), findText(rule, "securityGroupRuleId") ?? ""];
    }),
  );
}

function ruleText([protocol, from, to]: readonly (string | undefined)[], peer: string | undefined): string {
  return protocol === "-1"
    ? `peer: ${peer}, ALL`
    : `peer: ${peer}, ${protocol}, from port: ${from}, to port: ${to}`;
}

/**
 * Returns what keeps a security group from deletion: interfaces, load balancers, and rules of other groups.
 */
async function userOf(id: string, behind: Behind): Promise<string | undefined> {
  const eni = (await interfacesThere(behind)).find((each) => groupIds(each).includes(id));
  if (eni !== undefined) return findText(eni, "networkInterfaceId");
  const network = await behind.ask("elbv2", "DescribeLoadBalancers", { PageSize: "100000" });
  const classic = await behind.ask("elb", "DescribeLoadBalancers", { PageSize: "100000" });
  const balancers = [
    ...listMembers(network, "LoadBalancers"),
    ...listMembers(classic, "LoadBalancerDescriptions"),
  ];
  const balancer = balancers.find((each) =>
    listMembers(each, "SecurityGroups").some(({ text }) => text.trim() === id),
  );
  if (balancer !== undefined) return findText(balancer, "LoadBalancerName");
  const groups = listMembers(await behind.ask("ec2", "DescribeSecurityGroups", {}), "securityGroupInfo");
  const naming = groups.find(
    (each) =>
      findText(each, "groupId") !== id &&
      listMembers(each, "ipPermissions").some((rule) => groupsIn(rule).includes(id)),
  );
  return naming === undefined ? undefined : `a rule of ${findText(naming, "groupId")}`;
}

/** Returns the existing interfaces: an instance's first one ends with the instance, but not in moto. */
async function interfacesThere(behind: Behind): Promise<XmlElement[]> {
  const found = await behind.ask("ec2", "DescribeNetworkInterfaces", {});
  const ended = await behind.ask(
    "ec2",
    "DescribeInstances",
    buildFilterForm("instance-state-name", ["terminated"]),
  );
  const gone = listMembers(ended, "reservationSet")
    .flatMap((each) => listMembers(each, "instancesSet"))
    .map((each) => findText(each, "instanceId"));
  return listMembers(found, "networkInterfaceSet").filter((each) => {
    const attachment = findChild(each, "attachment");
    return findText(attachment, "deviceIndex") !== "0" || !gone.includes(findText(attachment, "instanceId"));
  });
}

function groupIds(of: XmlElement): (string | undefined)[] {
  return listMembers(of, "groupSet").map((each) => findText(each, "groupId"));
}

function groupsIn(rule: XmlElement): (string | undefined)[] {
  return listMembers(rule, "groups").map((each) => findText(each, "groupId"));
}
