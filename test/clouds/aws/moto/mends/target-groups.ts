import {
  type Answer,
  answerOf,
  type Call,
  faultOf,
  resultOf,
  succeeded,
  withoutList,
  withParameters,
} from "../call.ts";
import { type Behind, filterForm, type Kept, listForm, type Mend, type Mends, type Next } from "../mend.ts";
import { element, listOf, setChild, textOf, type XmlElement } from "../xml.ts";
import type { Forwards } from "./forwards.ts";

/** Target groups, and what is registered with them. */
export function targetGroups(forwards: Forwards): Mends {
  const groups = knownGroups();
  const describe: Mend = async (call, next, behind) => {
    const loadBalancer = call.parameters.text("LoadBalancerArn");
    if (loadBalancer === undefined) return withLoadBalancers(await next(call), forwards);
    await behind.ask("elbv2", "DescribeListeners", { LoadBalancerArn: loadBalancer });
    const groups = forwards.groupsOf(loadBalancer);
    if (groups.length === 0) return answerOf(call, [element("TargetGroups", [])]);
    const byArn = withParameters(call, {
      LoadBalancerArn: undefined,
      ...listForm("TargetGroupArns.member", groups),
    });
    return withLoadBalancers(await next(byArn), forwards);
  };
  return {
    byOperation: {
      "elbv2:CreateTargetGroup": create,
      "elbv2:DescribeTargetGroups": describe,
      "elbv2:DescribeTargetGroupAttributes": describeAttributes(groups),
      "elbv2:ModifyTargetGroupAttributes": modifyAttributes(groups),
      "elbv2:RegisterTargets": register(groups),
      "elbv2:DeregisterTargets": deregister,
    },
    forget: groups.forget,
    kept: [groups.kept],
  };
}

const NETWORK_PROTOCOLS = ["TCP", "UDP", "TCP_UDP", "TLS"];
const COMPARED = [
  "Protocol",
  "Port",
  "VpcId",
  "TargetType",
  "IpAddressType",
  "HealthCheckProtocol",
  "HealthCheckPort",
  "HealthCheckPath",
  "HealthCheckIntervalSeconds",
  "HealthCheckTimeoutSeconds",
  "HealthyThresholdCount",
  "UnhealthyThresholdCount",
];

const create: Mend = async (call, next, behind) => {
  const asked = withDefaults(call);
  const name = call.parameters.text("Name") ?? "";
  const found = await behind
    .ask("elbv2", "DescribeTargetGroups", listForm("Names.member", [name]))
    .catch(() => undefined);
  const [existing] = listOf(found, "TargetGroups");
  if (existing === undefined) return next(asked);
  const differing = COMPARED.find((key) => {
    const wanted = asked.parameters.text(key);
    return wanted !== undefined && wanted !== textOf(existing, key);
  });
  if (differing === undefined) return answerOf(call, [element("TargetGroups", [existing])]);
  return faultOf(
    call,
    "DuplicateTargetGroupName",
    `A target group with the same name '${name}' exists, but with different settings (${differing})`,
  );
};

/** What a check over HTTP is where a network load balancer's group leaves it open. */
function withDefaults(call: Call): Call {
  const { parameters } = call;
  const check = parameters.text("HealthCheckProtocol");
  const isNetwork = NETWORK_PROTOCOLS.includes(parameters.text("Protocol") ?? "");
  if (!isNetwork || (check !== "HTTP" && check !== "HTTPS")) return call;
  return withParameters(call, {
    HealthCheckPath: parameters.text("HealthCheckPath") ?? "/",
    HealthCheckTimeoutSeconds:
      parameters.text("HealthCheckTimeoutSeconds") ?? (check === "HTTP" ? "6" : "10"),
    "Matcher.HttpCode": parameters.text("Matcher.HttpCode") ?? "200-399",
  });
}

const describeAttributes =
  (groups: KnownGroups): Mend =>
  async (call, next, behind) => {
    const answer = await next(call);
    if (!succeeded(answer)) return answer;
    const arn = call.parameters.text("TargetGroupArn") ?? "";
    const group = await groups.find(arn, behind);
    const protocol = textOf(group, "Protocol") ?? "";
    if (!NETWORK_PROTOCOLS.includes(protocol)) return answer;
    const result = resultOf(answer);
    const known = new Map(
      listOf(result, "Attributes").map((each) => [textOf(each, "Key") ?? "", textOf(each, "Value") ?? ""]),
    );
    for (const key of NOT_OF_NETWORK) known.delete(key);
    const hasUdp = protocol.includes("UDP");
    const defaults: Readonly<Record<string, string>> = {
      "preserve_client_ip.enabled": "true",
      "proxy_protocol_v2.enabled": "false",
      "deregistration_delay.connection_termination.enabled": String(hasUdp),
    };
    for (const [key, value] of Object.entries(defaults)) if (!known.has(key)) known.set(key, value);
    setChild(
      result,
      "Attributes",
      [...known].map(([key, value]) => element("member", [element("Key", key), element("Value", value)])),
    );
    return answer;
  };

const NOT_OF_NETWORK = [
  "load_balancing.algorithm.type",
  "slow_start.duration_seconds",
  "waf.fail_open.enabled",
];

const modifyAttributes =
  (groups: KnownGroups): Mend =>
  async (call, next, behind) => {
    const arn = call.parameters.text("TargetGroupArn") ?? "";
    const group = await groups.find(arn, behind);
    const isUdp = textOf(group, "Protocol")?.includes("UDP") === true;
    const attributes = call.parameters.structures("Attributes.member");
    const hidesClient = attributes.some(
      (each) => each.text("Key") === "preserve_client_ip.enabled" && each.text("Value") === "false",
    );
    if (isUdp && hidesClient)
      return faultOf(
        call,
        "InvalidConfigurationRequest",
        "Client IP preservation cannot be disabled for UDP",
      );
    return next(call);
  };

// One target that is none fails the whole call.
const register =
  (groups: KnownGroups): Mend =>
  async (call, next, behind) => {
    const ids = call.parameters.structures("Targets.member").map((each) => each.text("Id") ?? "");
    const instances = ids.filter((id) => id.startsWith("i-"));
    const group = await groups.find(call.parameters.text("TargetGroupArn") ?? "", behind);
    if (group === undefined)
      return faultOf(call, "TargetGroupNotFound", "One or more target groups not found");
    const usable = await usableInstances(instances, textOf(group, "VpcId"), behind);
    const bad = ids.filter((id) => !usable.has(id));
    if (bad.length > 0 && textOf(group, "TargetType") === "instance")
      return faultOf(
        call,
        "InvalidTarget",
        `The following targets are not in a running state and cannot be registered, or not valid: '${bad.join("', '")}'`,
      );
    return next(call);
  };

async function usableInstances(
  ids: readonly string[],
  vpc: string | undefined,
  behind: Behind,
): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  const found = await behind.ask("ec2", "DescribeInstances", filterForm("instance-id", ids));
  const instances = listOf(found, "reservationSet").flatMap((each) => listOf(each, "instancesSet"));
  const running = instances.filter(
    (each) =>
      textOf(each, "vpcId") === vpc &&
      textOf(
        each.children.find(({ name }) => name === "instanceState"),
        "name",
      ) === "running",
  );
  return new Set(running.map((each) => textOf(each, "instanceId") ?? ""));
}

// What is not registered is nothing to take away, and no fault.
const deregister: Mend = async (call, next, behind) => {
  const arn = call.parameters.text("TargetGroupArn") ?? "";
  const health = await behind
    .ask("elbv2", "DescribeTargetHealth", { TargetGroupArn: arn })
    .catch(() => undefined);
  if (health === undefined) return next(call);
  const registered = listOf(health, "TargetHealthDescriptions").map(
    (each) =>
      textOf(
        each.children.find(({ name }) => name === "Target"),
        "Id",
      ) ?? "",
  );
  const ids = call.parameters.structures("Targets.member").map((each) => each.text("Id") ?? "");
  return deregisterThose(
    call,
    ids.filter((id) => registered.includes(id)),
    next,
  );
};

async function deregisterThose(call: Call, ids: readonly string[], next: Next): Promise<Answer> {
  if (ids.length === 0) return answerOf(call, []);
  const without = withoutList(call, "Targets.member");
  const targets = Object.fromEntries(ids.map((id, index) => [`Targets.member.${index + 1}.Id`, id]));
  return next(withParameters(without, targets));
}

/** Target groups by their ARN, with what of them never changes: protocol, VPC and kind of targets. */
interface KnownGroups {
  find(arn: string, behind: Behind): Promise<XmlElement | undefined>;
  forget(): void;
  readonly kept: Kept;
}

function knownGroups(): KnownGroups {
  const known = new Map<string, XmlElement>();
  return {
    async find(arn, behind) {
      if (!known.has(arn))
        for (const each of await allGroups(behind)) known.set(textOf(each, "TargetGroupArn") ?? "", each);
      return known.get(arn);
    },
    forget: () => known.clear(),
    kept: known,
  };
}

async function allGroups(behind: Behind): Promise<XmlElement[]> {
  return listOf(await behind.ask("elbv2", "DescribeTargetGroups"), "TargetGroups");
}

function withLoadBalancers(answer: Answer, forwards: Forwards): Answer {
  if (!succeeded(answer)) return answer;
  for (const group of listOf(resultOf(answer), "TargetGroups")) {
    const arns = forwards.loadBalancersOf(textOf(group, "TargetGroupArn") ?? "");
    setChild(
      group,
      "LoadBalancerArns",
      arns.map((arn) => element("member", arn)),
    );
  }
  return answer;
}
