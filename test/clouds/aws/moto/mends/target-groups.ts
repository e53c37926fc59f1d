import {
  type Answer,
  buildAnswer,
  buildFault,
  type Call,
  getResult,
  hasSucceeded,
  removeList,
  replaceParameters,
} from "../call.ts";
import {
  type Behind,
  buildFilterForm,
  type Kept,
  listForm,
  type Mend,
  type Mends,
  type Next,
} from "../mend.ts";
import { createElement, findText, listMembers, setChild, type XmlElement } from "../xml.ts";
import type { Forwards } from "./forwards.ts";

/** Mends of target groups and their registered targets. */
export function createTargetGroupMends(forwards: Forwards): Mends {
  const groups = knownGroups();
  const describe: Mend = async (call, next, behind) => {
    const loadBalancer = call.parameters.text("LoadBalancerArn");
    if (loadBalancer === undefined) return withLoadBalancers(await next(call), forwards);
    await behind.ask("elbv2", "DescribeListeners", { LoadBalancerArn: loadBalancer });
    const groups = forwards.groupsOf(loadBalancer);
    if (groups.length === 0) return buildAnswer(call, [createElement("TargetGroups", [])]);
    const byArn = replaceParameters(call, {
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
  const [existing] = listMembers(found, "TargetGroups");
  if (existing === undefined) return next(asked);
  const differing = COMPARED.find((key) => {
    const wanted = asked.parameters.text(key);
    return wanted !== undefined && wanted !== findText(existing, key);
  });
  if (differing === undefined) return buildAnswer(call, [createElement("TargetGroups", [existing])]);
  return buildFault(
    call,
    "DuplicateTargetGroupName",
    `A target group with the same name '${name}' exists, but with different settings (${differing})`,
  );
};

/** Sets the defaults of an HTTP check that a network load balancer's group leaves open. */
function withDefaults(call: Call): Call {
  const { parameters } = call;
  const check = parameters.text("HealthCheckProtocol");
  const isNetwork = NETWORK_PROTOCOLS.includes(parameters.text("Protocol") ?? "");
  if (!isNetwork || (check !== "HTTP" && check !== "HTTPS")) return call;
  return replaceParameters(call, {
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
    if (!hasSucceeded(answer)) return answer;
    const arn = call.parameters.text("TargetGroupArn") ?? "";
    const group = await groups.find(arn, behind);
    const protocol = findText(group, "Protocol") ?? "";
    if (!NETWORK_PROTOCOLS.includes(protocol)) return answer;
    const result = getResult(answer);
    const known = new Map(
      listMembers(result, "Attributes").map((each) => [
        findText(each, "Key") ?? "",
        findText(each, "Value") ?? "",
      ]),
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
      [...known].map(([key, value]) =>
        createElement("member", [createElement("Key", key), createElement("Value", value)]),
      ),
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
    const isUdp = findText(group, "Protocol")?.includes("UDP") === true;
    const attributes = call.parameters.structures("Attributes.member");
    const hidesClient = attributes.some(
      (each) => each.text("Key") === "preserve_client_ip.enabled" && each.text("Value") === "false",
    );
    if (isUdp && hidesClient)
      return buildFault(
        call,
        "InvalidConfigurationRequest",
        "Client IP preservation cannot be disabled for UDP",
      );
    return next(call);
  };

// One invalid target fails the whole call.
const register =
  (groups: KnownGroups): Mend =>
  async (call, next, behind) => {
    const ids = call.parameters.structures("Targets.member").map((each) => each.text("Id") ?? "");
    const instances = ids.filter((id) => id.startsWith("i-"));
    const group = await groups.find(call.parameters.text("TargetGroupArn") ?? "", behind);
    if (group === undefined)
      return buildFault(call, "TargetGroupNotFound", "One or more target groups not found");
    const usable = await usableInstances(instances, findText(group, "VpcId"), behind);
    const bad = ids.filter((id) => !usable.has(id));
    if (bad.length > 0 && findText(group, "TargetType") === "instance")
      return buildFault(
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
  const found = await behind.ask("ec2", "DescribeInstances", buildFilterForm("instance-id", ids));
  const instances = listMembers(found, "reservationSet").flatMap((each) => listMembers(each, "instancesSet"));
  const running = instances.filter(
    (each) =>
      findText(each, "vpcId") === vpc &&
      findText(
        each.children.find(({ name }) => name === "instanceState"),
        "name",
      ) === "running",
  );
  return new Set(running.map((each) => findText(each, "instanceId") ?? ""));
}

// An unregistered target is not deregistered, and is no fault.
const deregister: Mend = async (call, next, behind) => {
  const arn = call.parameters.text("TargetGroupArn") ?? "";
  const health = await behind
    .ask("elbv2", "DescribeTargetHealth", { TargetGroupArn: arn })
    .catch(() => undefined);
  if (health === undefined) return next(call);
  const registered = listMembers(health, "TargetHealthDescriptions").map(
    (each) =>
      findText(
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
  if (ids.length === 0) return buildAnswer(call, []);
  const without = removeList(call, "Targets.member");
  const targets = Object.fromEntries(ids.map((id, index) => [`Targets.member.${index + 1}.Id`, id]));
  return next(replaceParameters(without, targets));
}

/** Target groups by their ARN, with what never changes: protocol, VPC and kind of targets. */
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
        for (const each of await allGroups(behind)) known.set(findText(each, "TargetGroupArn") ?? "", each);
      return known.get(arn);
    },
    forget: () => known.clear(),
    kept: known,
  };
}

async function allGroups(behind: Behind): Promise<XmlElement[]> {
  return listMembers(await behind.ask("elbv2", "DescribeTargetGroups"), "TargetGroups");
}

function withLoadBalancers(answer: Answer, forwards: Forwards): Answer {
  if (!hasSucceeded(answer)) return answer;
  for (const group of listMembers(getResult(answer), "TargetGroups")) {
    const arns = forwards.loadBalancersOf(findText(group, "TargetGroupArn") ?? "");
    setChild(
      group,
      "LoadBalancerArns",
      arns.map((arn) => createElement("member", arn)),
    );
  }
  return answer;
}
