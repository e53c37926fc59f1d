import { type Answer, answerOf, type Call, faultOf, resultOf, succeeded, withParameters } from "../call.ts";
import { type Behind, listForm, type Mend, type Mends } from "../mend.ts";
import { element, listOf, setChild, textOf, type XmlElement } from "../xml.ts";
import { zonesTwice } from "./zones.ts";

/** Load balancers of ELBv2. */
export function networkLoadBalancers(): Mends {
  return {
    byOperation: {
      "elbv2:CreateLoadBalancer": create,
      "elbv2:DescribeLoadBalancers": describe,
      "elbv2:DescribeLoadBalancerAttributes": describeAttributes,
      "elbv2:SetSecurityGroups": setSecurityGroups,
    },
  };
}

/** How many names or ARNs one describe may ask about. */
const MOST_ASKED = 20;

const create: Mend = async (call, next, behind) => {
  const name = call.parameters.text("Name") ?? "";
  const asked = withParameters(call, { Scheme: call.parameters.text("Scheme") ?? "internet-facing" });
  const groups = asked.parameters.list("SecurityGroups.member");
  const missing = await missingGroups(groups, behind);
  if (missing !== undefined)
    return faultOf(call, "InvalidSecurityGroup", `the security group '${missing}' does not exist`);
  const twice = await zonesTwice(subnetsOf(asked), behind);
  if (twice !== undefined) return faultOf(call, "InvalidConfigurationRequest", twice);
  const found = await behind
    .ask("elbv2", "DescribeLoadBalancers", listForm("Names.member", [name]))
    .catch(() => undefined);
  const [existing] = listOf(found, "LoadBalancers");
  if (existing === undefined) return mended(await next(asked), call.region);
  if (differs(asked, existing))
    return faultOf(
      call,
      "DuplicateLoadBalancerName",
      `A load balancer with the same name '${name}' exists, but with different settings`,
    );
  return mended(answerOf(call, [element("LoadBalancers", [existing])]), call.region);
};

const describe: Mend = async (call, next) => {
  const asked = [...call.parameters.list("Names.member"), ...call.parameters.list("LoadBalancerArns.member")];
  if (asked.length > MOST_ASKED)
    return faultOf(
      call,
      "ValidationError",
      `Up to ${MOST_ASKED} load balancers can be described in a single call`,
    );
  const answer = await next(call);
  if (!succeeded(answer)) return answer;
  const found = listOf(resultOf(answer), "LoadBalancers");
  const has = (name: string): boolean =>
    found.some((each) => [textOf(each, "LoadBalancerName"), textOf(each, "LoadBalancerArn")].includes(name));
  if (!asked.every(has)) return faultOf(call, "LoadBalancerNotFound", "One or more load balancers not found");
  return mended(answer, call.region);
};

const describeAttributes: Mend = async (call, next) => {
  const answer = await next(call);
  if (!succeeded(answer)) return answer;
  const attributes = listOf(resultOf(answer), "Attributes");
  for (const [key, value] of Object.entries(ATTRIBUTES))
    if (!attributes.some((each) => textOf(each, "Key") === key))
      attributes.push(element("member", [element("Key", key), element("Value", value)]));
  return answer;
};

/** What a network load balancer's attributes are where nobody set them, as far as moto does not say. */
const ATTRIBUTES = {
  "access_logs.s3.enabled": "false",
  "dns_record.client_routing_policy": "any_availability_zone",
  "ipv6.deny_all_igw_traffic": "false",
  "zonal_shift.config.enabled": "false",
};

// Who was made without security groups can never have any.
const setSecurityGroups: Mend = async (call, next, behind) => {
  const arn = call.parameters.text("LoadBalancerArn");
  const existing = (await all(behind)).find((each) => textOf(each, "LoadBalancerArn") === arn);
  if (textOf(existing, "Type") === "network" && listOf(existing, "SecurityGroups").length === 0)
    return faultOf(
      call,
      "InvalidConfigurationRequest",
      "You cannot set security groups on a Network Load Balancer that was created without security groups",
    );
  return next(call);
};

async function all(behind: Behind): Promise<XmlElement[]> {
  return listOf(await behind.ask("elbv2", "DescribeLoadBalancers", { PageSize: "100000" }), "LoadBalancers");
}

function subnetsOf({ parameters }: Call): string[] {
  const mapped = parameters.structures("SubnetMappings.member").map((each) => each.text("SubnetId") ?? "");
  return [...parameters.list("Subnets.member"), ...mapped];
}

async function missingGroups(ids: readonly string[], behind: Behind): Promise<string | undefined> {
  if (ids.length === 0) return undefined;
  const found = listOf(
    await behind.ask("ec2", "DescribeSecurityGroups", {
      "Filter.1.Name": "group-id",
      ...listForm("Filter.1.Value", ids),
    }),
    "securityGroupInfo",
  );
  return ids.find((id) => !found.some((each) => textOf(each, "groupId") === id));
}

function differs(call: Call, existing: XmlElement): boolean {
  const { parameters } = call;
  const zones = listOf(existing, "AvailabilityZones").map((each) => textOf(each, "SubnetId") ?? "");
  const groups = listOf(existing, "SecurityGroups").map(({ text }) => text.trim());
  return (
    (parameters.text("Type") ?? "application") !== textOf(existing, "Type") ||
    parameters.text("Scheme") !== textOf(existing, "Scheme") ||
    (parameters.text("IpAddressType") ?? "ipv4") !== textOf(existing, "IpAddressType") ||
    !sameSet(subnetsOf(call), zones) ||
    !sameSet(parameters.list("SecurityGroups.member"), groups)
  );
}

function sameSet(one: readonly string[], other: readonly string[]): boolean {
  return one.toSorted().join() === other.toSorted().join();
}

/** The host names that AWS gives: a network load balancer's has its region behind `elb`. */
function mended(answer: Answer, region: string): Answer {
  if (!succeeded(answer)) return answer;
  for (const each of listOf(resultOf(answer), "LoadBalancers")) {
    const name = textOf(each, "LoadBalancerName") ?? "";
    const hash = textOf(each, "LoadBalancerArn")?.split("/").at(-1) ?? "";
    const domain = region.startsWith("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
    const internal = textOf(each, "Scheme") === "internal" ? "internal-" : "";
    const host =
      textOf(each, "Type") === "network"
        ? `${name}-${hash}.elb.${region}.${domain}`
        : `${internal}${name}-${Number.parseInt(hash.slice(0, 7), 16)}.${region}.elb.${domain}`;
    setChild(each, "DNSName", host);
  }
  return answer;
}
