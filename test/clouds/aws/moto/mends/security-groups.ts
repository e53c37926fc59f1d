import type { Parameters } from "#emulators/ec2/parameters.ts";
import {
  type Answer,
  type Call,
  faultOf,
  resultOf,
  succeeded,
  withoutList,
  withParameters,
} from "../call.ts";
import { type Behind, filterForm, listForm, type Mends, type Next } from "../mend.ts";
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
      const asked = rulesIn(call);
      const missing = asked.find((rule) => !known.has(rule));
      // By their ids: moto compares what a rule about a group is described with, too.
      if (missing === undefined && asked.length > 0)
        return next(
          withParameters(
            withoutList(call, "IpPermissions"),
            listForm(
              "SecurityGroupRuleId",
              asked.map((rule) => known.get(rule) ?? ""),
            ),
          ),
        );
      if (missing === undefined) return next(call);
      return faultOf(
        call,
        "InvalidPermission.NotFound",
        `The specified rule "${missing}" does not exist in this security group`,
      );
    },
    // moto does not find a rule about a group whose description is another: it is made anew with that.
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
        return faultOf(call, "InvalidPermission.NotFound", `The specified rule "${missing}" does not exist`);
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
      if (!succeeded(answer)) return answer;
      const there = new Set(
        (await interfacesThere(behind)).map((each) => textOf(each, "networkInterfaceId")),
      );
      const shown = listOf(resultOf(answer), "networkInterfaceSet").filter((each) =>
        there.has(textOf(each, "networkInterfaceId")),
      );
      setChild(resultOf(answer), "networkInterfaceSet", shown);
      return answer;
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

/** The ids of a group's rules, by what they say. */
async function rulesOn(groupId: string, behind: Behind): Promise<ReadonlyMap<string, string>> {
  const found = await behind
    .ask("ec2", "DescribeSecurityGroupRules", filterForm("group-id", [groupId]))
    .catch(() => undefined);
  const rules = listOf(found, "securityGroupRuleSet").filter((each) => textOf(each, "isEgress") !== "true");
  return new Map(
    rules.map((rule) => {
      const what = [textOf(rule, "ipProtocol"), textOf(rule, "fromPort"), textOf(rule, "toPort")];
      const peer =
        textOf(rule, "cidrIpv4") ??
        textOf(rule, "cidrIpv6") ??
        textOf(rule, "prefixListId") ??
        textOf(child(rule, "referencedGroupInfo"), "groupId");
      return [ruleText(what, peer), textOf(rule, "securityGroupRuleId") ?? ""];
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
  const eni = (await interfacesThere(behind)).find((each) => groupIds(each).includes(id));
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

/** Interfaces that are there: an instance's first ends with it, which moto's does not. */
async function interfacesThere(behind: Behind): Promise<XmlElement[]> {
  const found = await behind.ask("ec2", "DescribeNetworkInterfaces", {});
  const ended = await behind.ask(
    "ec2",
    "DescribeInstances",
    filterForm("instance-state-name", ["terminated"]),
  );
  const gone = listOf(ended, "reservationSet")
    .flatMap((each) => listOf(each, "instancesSet"))
    .map((each) => textOf(each, "instanceId"));
  return listOf(found, "networkInterfaceSet").filter((each) => {
    const attachment = child(each, "attachment");
    return textOf(attachment, "deviceIndex") !== "0" || !gone.includes(textOf(attachment, "instanceId"));
  });
}

function groupIds(of: XmlElement): (string | undefined)[] {
  return listOf(of, "groupSet").map((each) => textOf(each, "groupId"));
}

function groupsIn(rule: XmlElement): (string | undefined)[] {
  return listOf(rule, "groups").map((each) => textOf(each, "groupId"));
}
