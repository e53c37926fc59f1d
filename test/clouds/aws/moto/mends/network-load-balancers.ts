import {
  type Answer,
  buildAnswer,
  buildFault,
  type Call,
  getResult,
  hasSucceeded,
  replaceParameters,
} from "../call.ts";
import { type Behind, listForm, type Mend, type Mends } from "../mend.ts";
import { createElement, findText, listMembers, setChild, type XmlElement } from "../xml.ts";
import { findSharedZone } from "./zones.ts";

/** Mends of ELBv2 load balancers. */
export function createNetworkMends(): Mends {
  return {
    byOperation: {
      "elbv2:CreateLoadBalancer": create,
      "elbv2:DescribeLoadBalancers": describe,
      "elbv2:DescribeLoadBalancerAttributes": describeAttributes,
      "elbv2:SetSecurityGroups": setSecurityGroups,
    },
  };
}

/** The maximum number of names or ARNs in one describe. */
const MOST_ASKED = 20;

const create: Mend = async (call, next, behind) => {
  const name = call.parameters.text("Name") ?? "";
  const asked = replaceParameters(call, { Scheme: call.parameters.text("Scheme") ?? "internet-facing" });
  const groups = asked.parameters.list("SecurityGroups.member");
  const missing = await missingGroups(groups, behind);
  if (missing !== undefined)
    return buildFault(call, "InvalidSecurityGroup", `the security group '${missing}' does not exist`);
  const twice = await findSharedZone(subnetsOf(asked), behind);
  if (twice !== undefined) return buildFault(call, "InvalidConfigurationRequest", twice);
  const found = await behind
    .ask("elbv2", "DescribeLoadBalancers", listForm("Names.member", [name]))
    .catch(() => undefined);
  const [existing] = listMembers(found, "LoadBalancers");
  if (existing === undefined) return mended(await next(asked), call.region);
  if (differs(asked, existing))
    return buildFault(
      call,
      "DuplicateLoadBalancerName",
      `A load balancer with the same name '${name}' exists, but with different settings`,
    );
  return mended(buildAnswer(call, [createElement("LoadBalancers", [existing])]), call.region);
};

const describe: Mend = async (call, next) => {
  const asked = [...call.parameters.list("Names.member"), ...call.parameters.list("LoadBalancerArns.member")];
  if (asked.length > MOST_ASKED)
    return buildFault(
      call,
      "ValidationError",
      `Up to ${MOST_ASKED} load balancers can be described in a single call`,
    );
  const answer = await next(call);
  if (!hasSucceeded(answer)) return answer;
  const found = listMembers(getResult(answer), "LoadBalancers");
  const has = (name: string): boolean =>
    found.some((each) =>
      [findText(each, "LoadBalancerName"), findText(each, "LoadBalancerArn")].includes(name),
    );
  if (!asked.every(has))
    return buildFault(call, "LoadBalancerNotFound", "One or more load balancers not found");
  return mended(answer, call.region);
};

const describeAttributes: Mend = async (call, next) => {
  const answer = await next(call);
  if (!hasSucceeded(answer)) return answer;
  const attributes = listMembers(getResult(answer), "Attributes");
  for (const [key, value] of Object.entries(ATTRIBUTES))
    if (!attributes.some((each) => findText(each, "Key") === key))
      attributes.push(createElement("member", [createElement("Key", key), createElement("Value", value)]));
  return answer;
};

/** Default attributes of a network load balancer that moto lacks. */
const ATTRIBUTES = {
  "access_logs.s3.enabled": "false",
  "dns_record.client_routing_policy": "any_availability_zone",
  "ipv6.deny_all_igw_traffic": "false",
  "zonal_shift.config.enabled": "false",
};

// A load balancer made without security groups can never get any.
const setSecurityGroups: Mend = async (call, next, behind) => {
  const arn = call.parameters.text("LoadBalancerArn");
  const existing = (await all(behind)).find((each) => findText(each, "LoadBalancerArn") === arn);
  if (findText(existing, "Type") === "network" && listMembers(existing, "SecurityGroups").length === 0)
    return buildFault(
      call,
      "InvalidConfigurationRequest",
      "You cannot set security groups on a Network Load Balancer that was created without security groups",
    );
  return next(call);
};

async function all(behind: Behind): Promise<XmlElement[]> {
  return listMembers(
    await behind.ask("elbv2", "DescribeLoadBalancers", { PageSize: "100000" }),
    "LoadBalancers",
  );
}

function subnetsOf({ parameters }: Call): string[] {
  const mapped = parameters.structures("SubnetMappings.member").map((each) => each.text("SubnetId") ?? "");
  return [...parameters.list("Subnets.member"), ...mapped];
}

async function missingGroups(ids: readonly string[], behind: Behind): Promise<string | undefined> {
  if (ids.length === 0) return undefined;
  const found = listMembers(
    await behind.ask("ec2", "DescribeSecurityGroups", {
      "Filter.1.Name": "group-id",
      ...listForm("Filter.1.Value", ids),
    }),
    "securityGroupInfo",
  );
  return ids.find((id) => !found.some((each) => findText(each, "groupId") === id));
}

function differs(call: Call, existing: XmlElement): boolean {
  const { parameters } = call;
  const zones = listMembers(existing, "AvailabilityZones").map((each) => findText(each, "SubnetId") ?? "");
  const groups = listMembers(existing, "SecurityGroups").map(({ text }) => text.trim());
  return (
    (parameters.text("Type") ?? "application") !== findText(existing, "Type") ||
    parameters.text("Scheme") !== findText(existing, "Scheme") ||
    (parameters.text("IpAddressType") ?? "ipv4") !== findText(existing, "IpAddressType") ||
    !sameSet(subnetsOf(call), zones) ||
    !sameSet(parameters.list("SecurityGroups.member"), groups)
  );
}

function sameSet(one: readonly string[], other: readonly string[]): boolean {
  return one.toSorted().join() === other.toSorted().join();
}

/** Returns the answer with AWS's host names: a network load balancer's has its region after `elb`. */
function mended(answer: Answer, region: string): Answer {
  if (!hasSucceeded(answer)) return answer;
  for (const each of listMembers(getResult(answer), "LoadBalancers")) {
    const name = findText(each, "LoadBalancerName") ?? "";
    const hash = findText(each, "LoadBalancerArn")?.split("/").at(-1) ?? "";
    const domain = region.startsWith("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
    const internal = findText(each, "Scheme") === "internal" ? "internal-" : "";
    const host =
      findText(each, "Type") === "network"
        ? `${name}-${hash}.elb.${region}.${domain}`
        : `${internal}${name}-${Number.parseInt(hash.slice(0, 7), 16)}.${region}.elb.${domain}`;
    setChild(each, "DNSName", host);
  }
  return answer;
}
