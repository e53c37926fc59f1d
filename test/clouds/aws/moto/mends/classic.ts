import { createHash } from "node:crypto";
import {
  type Answer,
  buildAnswer,
  buildFault,
  type Call,
  getResult,
  hasSucceeded,
  removeList,
  replaceList,
  replaceParameters,
} from "../call.ts";
import { type Behind, buildFilterForm, type Mend, type Mends } from "../mend.ts";
import { createElement, findChild, findText, listMembers, setChild, type XmlElement } from "../xml.ts";
import { findSharedZone } from "./zones.ts";

/** What moto forgets about a classic load balancer. */
interface Remembered {
  /** A part of its host name, so that a recreated load balancer has another one. */
  readonly serial: number;
  /** By the port of the listener. */
  readonly instanceProtocols: Map<string, string>;
  /** By instance port. */
  readonly backendPolicies: Map<string, readonly string[]>;
}

/** Mends of classic load balancers. */
export function createClassicMends(): Mends {
  const remembered = new Map<string, Remembered>();
  let serial = 0;

  const mended = (described: XmlElement, region: string): void => {
    const name = findText(described, "LoadBalancerName") ?? "";
    const known = remembered.get(name);
    const host = hostOf(name, findText(described, "Scheme"), region, known?.serial ?? 0);
    setChild(described, "DNSName", host);
    setChild(described, "CanonicalHostedZoneName", host);
    for (const each of listMembers(described, "ListenerDescriptions")) {
      const listener = findChild(each, "Listener");
      const protocol = known?.instanceProtocols.get(findText(listener, "LoadBalancerPort") ?? "");
      if (listener !== undefined && protocol !== undefined) setChild(listener, "InstanceProtocol", protocol);
    }
    const backends = [...(known?.backendPolicies ?? [])].filter(([, policies]) => policies.length > 0);
    setChild(
      described,
      "BackendServerDescriptions",
      backends.map(([port, policies]) =>
        createElement("member", [
          createElement("InstancePort", port),
          createElement(
            "PolicyNames",
            policies.map((policy) => createElement("member", policy)),
          ),
        ]),
      ),
    );
  };

  const create: Mend = async (call, next, behind) => {
    const wrong =
      wrongListeners(call) ?? (await findSharedZone(call.parameters.list("Subnets.member"), behind));
    if (wrong !== undefined) return buildFault(call, "InvalidConfigurationRequest", wrong);
    const answer = await next(call);
    if (!hasSucceeded(answer)) return answer;
    const name = call.parameters.text("LoadBalancerName") ?? "";
    serial += 1;
    const known: Remembered = { serial, instanceProtocols: new Map(), backendPolicies: new Map() };
    remembered.set(name, known);
    rememberProtocols(call, known);
    const [first] = call.parameters.structures("Listeners.member");
    await behind.ask("elb", "ConfigureHealthCheck", {
      LoadBalancerName: name,
      "HealthCheck.Target": `TCP:${first?.text("InstancePort")}`,
      "HealthCheck.Interval": "30",
      "HealthCheck.Timeout": "5",
      "HealthCheck.UnhealthyThreshold": "2",
      "HealthCheck.HealthyThreshold": "10",
    });
    const host = hostOf(name, call.parameters.text("Scheme"), call.region, serial);
    return buildAnswer(call, [createElement("DNSName", host)]);
  };

  const createListeners: Mend = async (call, next) => {
    const wrong = wrongListeners(call);
    if (wrong !== undefined) return buildFault(call, "InvalidConfigurationRequest", wrong);
    const answer = await next(call);
    const known = remembered.get(call.parameters.text("LoadBalancerName") ?? "");
    if (hasSucceeded(answer) && known !== undefined) rememberProtocols(call, known);
    return answer;
  };

  // One by one: moto keeps all listeners if several are deleted at once.
  const deleteListeners: Mend = async (call, next) => {
    let answer: Answer = buildAnswer(call, []);
    const known = remembered.get(call.parameters.text("LoadBalancerName") ?? "");
    for (const port of call.parameters.list("LoadBalancerPorts.member")) {
      answer = await next(replaceList(call, "LoadBalancerPorts.member", [port]));
      if (!hasSucceeded(answer)) return answer;
      known?.instanceProtocols.delete(port);
    }
    return answer;
  };

  const backendPolicies: Mend = async (call, next, behind) => {
    const name = call.parameters.text("LoadBalancerName") ?? "";
    const policies = call.parameters.list("PolicyNames.member");
    const missing = await missingPolicy(name, policies, behind);
    if (missing !== undefined) return missingPolicyFault(call, missing);
    const port = call.parameters.text("InstancePort") ?? "";
    const listeners = listMembers(await described(name, behind), "ListenerDescriptions");
    const known = remembered.get(name)?.backendPolicies;
    const isServed = listeners.some((each) => findText(findChild(each, "Listener"), "InstancePort") === port);
    // Policies outlive the last listener of their port, and can be removed: the stock controller relies on
    // both.
    if (!isServed && (policies.length > 0 || known?.get(port) === undefined))
      return buildFault(
        call,
        "InvalidConfigurationRequest",
        `There is no listener with instance port ${port}`,
      );
    known?.set(port, policies);
    return next(call);
  };

  const byOperation: Record<string, Mend> = {
    "elb:CreateLoadBalancerListeners": createListeners,
    "elb:DeleteLoadBalancerListeners": deleteListeners,
    "elb:SetLoadBalancerPoliciesForBackendServer": backendPolicies,
    "elb:SetLoadBalancerPoliciesOfListener": async (call, next, behind) => {
      const name = call.parameters.text("LoadBalancerName") ?? "";
      const missing = await missingPolicy(name, call.parameters.list("PolicyNames.member"), behind);
      return missing === undefined ? next(call) : missingPolicyFault(call, missing);
    },
    "elb:CreateLoadBalancerPolicy": async (call, next, behind) => {
      const policy = call.parameters.text("PolicyName") ?? "";
      const missing = await missingPolicy(call.parameters.text("LoadBalancerName") ?? "", [policy], behind);
      if (missing !== undefined) return next(call);
      return buildFault(call, "DuplicatePolicyName", `Policy ${policy} already exists`);
    },
    "elb:RegisterInstancesWithLoadBalancer": register,
    "elb:DeregisterInstancesFromLoadBalancer": async (call, next, behind) => {
      const answer = await next(call);
      return hasSucceeded(answer) ? instancesAnswer(call, behind) : answer;
    },
    "elb:AttachLoadBalancerToSubnets": async (call, next, behind) => {
      const name = call.parameters.text("LoadBalancerName") ?? "";
      const now = listMembers(await described(name, behind), "Subnets").map(({ text }) => text.trim());
      const wanted = new Set([...now, ...call.parameters.list("Subnets.member")]);
      const wrong = await findSharedZone([...wanted], behind);
      return wrong === undefined ? next(call) : buildFault(call, "InvalidConfigurationRequest", wrong);
    },
    "elb:DescribeLoadBalancerAttributes": describeAttributes,
  };
  for (const operation of [...Object.keys(byOperation), ...OF_ONE])
    byOperation[operation] = ofExisting(byOperation[operation] ?? ((call, next) => next(call)));
  byOperation["elb:CreateLoadBalancer"] = create;
  byOperation["elb:DeleteLoadBalancer"] = async (call, next) => {
    remembered.delete(call.parameters.text("LoadBalancerName") ?? "");
    return next(call);
  };
  byOperation["elb:DescribeLoadBalancers"] = async (call, next) => {
    const answer = await next(call);
    if (hasSucceeded(answer))
      for (const each of listMembers(getResult(answer), "LoadBalancerDescriptions"))
        mended(each, call.region);
    return answer;
  };
  return { byOperation, forget: () => remembered.clear(), kept: [remembered] };
}

/** Operations on one load balancer for which moto has no answer if it is missing. */
const OF_ONE = [
  "elb:ApplySecurityGroupsToLoadBalancer",
  "elb:ConfigureHealthCheck",
  "elb:DescribeLoadBalancerPolicies",
  "elb:DescribeInstanceHealth",
  "elb:DetachLoadBalancerFromSubnets",
  "elb:ModifyLoadBalancerAttributes",
  "elb:SetLoadBalancerListenerSSLCertificate",
  "elb:DeleteLoadBalancerPolicy",
];

function ofExisting(mend: Mend): Mend {
  return async (call, next, behind) => {
    const name = call.parameters.text("LoadBalancerName");
    if (name !== undefined && (await described(name, behind)) === undefined)
      return buildFault(call, "LoadBalancerNotFound", `There is no ACTIVE Load Balancer named '${name}'`);
    return mend(call, next, behind);
  };
}

async function described(name: string, behind: Behind): Promise<XmlElement | undefined> {
  const found = await behind
    .ask("elb", "DescribeLoadBalancers", { "LoadBalancerNames.member.1": name })
    .catch(() => undefined);
  return listMembers(found, "LoadBalancerDescriptions").at(0);
}

async function missingPolicy(
  loadBalancer: string,
  policies: readonly string[],
  behind: Behind,
): Promise<string | undefined> {
  if (policies.length === 0) return undefined;
  const found = await behind.ask("elb", "DescribeLoadBalancerPolicies", { LoadBalancerName: loadBalancer });
  const known = listMembers(found, "PolicyDescriptions").map((each) => findText(each, "PolicyName"));
  return policies.find((policy) => !known.includes(policy) && !policy.startsWith("ELBSecurityPolicy-"));
}

function missingPolicyFault(call: Call, policy: string): Answer {
  return buildFault(call, "PolicyNotFound", `There is no policy with name ${policy}`);
}

// A registered instance is registered once, and an invalid ID fails the call.
const register: Mend = async (call, next, behind) => {
  const name = call.parameters.text("LoadBalancerName") ?? "";
  const ids = call.parameters.structures("Instances.member").map((each) => each.text("InstanceId") ?? "");
  const found = await behind.ask("ec2", "DescribeInstances", buildFilterForm("instance-id", ids));
  const known = listMembers(found, "reservationSet")
    .flatMap((each) => listMembers(each, "instancesSet"))
    .filter((each) => findText(findChild(each, "instanceState"), "name") !== "terminated")
    .map((each) => findText(each, "instanceId"));
  const bad = ids.find((id) => !known.includes(id));
  if (bad !== undefined) return buildFault(call, "InvalidInstance", `Could not find EC2 instance ${bad}.`);
  const registered = listMembers(await described(name, behind), "Instances").map((each) =>
    findText(each, "InstanceId"),
  );
  const fresh = [...new Set(ids)].filter((id) => !registered.includes(id));
  if (fresh.length > 0) {
    const instances = Object.fromEntries(
      fresh.map((id, index) => [`Instances.member.${index + 1}.InstanceId`, id]),
    );
    const answer = await next(replaceParameters(removeList(call, "Instances.member"), instances));
    if (!hasSucceeded(answer)) return answer;
  }
  return instancesAnswer(call, behind);
};

async function instancesAnswer(call: Call, behind: Behind): Promise<Answer> {
  const now = await described(call.parameters.text("LoadBalancerName") ?? "", behind);
  return buildAnswer(call, [createElement("Instances", listMembers(now, "Instances"))]);
}

const describeAttributes: Mend = async (call, next) => {
  const answer = await next(call);
  if (!hasSucceeded(answer)) return answer;
  const attributes = findChild(getResult(answer), "LoadBalancerAttributes");
  const draining = findChild(attributes, "ConnectionDraining");
  if (draining !== undefined && findChild(draining, "Timeout") === undefined)
    setChild(draining, "Timeout", "300");
  const additional = listMembers(attributes, "AdditionalAttributes");
  // AWS shows the default of an attribute that was never set; moto shows it only after a modification.
  const byKey = new Map([DEFAULT_DESYNC_MODE, ...additional].map((each) => [findText(each, "Key"), each]));
  if (attributes !== undefined) setChild(attributes, "AdditionalAttributes", [...byKey.values()]);
  return answer;
};

const DEFAULT_DESYNC_MODE = createElement("member", [
  createElement("Key", "elb.http.desyncmitigationmode"),
  createElement("Value", "defensive"),
]);

function rememberProtocols({ parameters }: Call, { instanceProtocols }: Remembered): void {
  for (const listener of parameters.structures("Listeners.member")) {
    const protocol = listener.text("InstanceProtocol") ?? listener.text("Protocol") ?? "";
    instanceProtocols.set(listener.text("LoadBalancerPort") ?? "", protocol.toUpperCase());
  }
}

const HTTP = ["HTTP", "HTTPS"];

function wrongListeners({ parameters }: Call): string | undefined {
  for (const listener of parameters.structures("Listeners.member")) {
    const [front = "", back] = [
      listener.text("Protocol")?.toUpperCase(),
      listener.text("InstanceProtocol")?.toUpperCase(),
    ];
    if (back !== undefined && HTTP.includes(front) !== HTTP.includes(back))
      return `A listener of ${front} cannot have an instance protocol of ${back}: both are of layer 4, or of layer 7`;
    if ((front === "HTTPS" || front === "SSL") && listener.text("SSLCertificateId") === undefined)
      return "Secure Listeners require a certificate to be specified";
  }
  return undefined;
}

function hostOf(name: string, scheme: string | undefined, region: string, serial: number): string {
  const digits = Number.parseInt(
    createHash("sha256").update(`${name}${serial}`).digest("hex").slice(0, 7),
    16,
  );
  const domain = region.startsWith("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
  return `${scheme === "internal" ? "internal-" : ""}${name}-${digits}.${region}.elb.${domain}`;
}
