import { createHash } from "node:crypto";
import {
  type Answer,
  answerOf,
  type Call,
  faultOf,
  resultOf,
  succeeded,
  withList,
  withoutList,
  withParameters,
} from "../call.ts";
import { type Behind, filterForm, type Mend, type Mends } from "../mend.ts";
import { child, element, listOf, setChild, textOf, type XmlElement } from "../xml.ts";
import { zonesTwice } from "./zones.ts";

/** What moto forgets of a classic load balancer. */
interface Remembered {
  /** Stands in its host name: one that was deleted and made again has another. */
  readonly serial: number;
  /** By the port of the listener. */
  readonly instanceProtocols: Map<string, string>;
  /** By instance port. */
  readonly backendPolicies: Map<string, readonly string[]>;
}

/** Classic load balancers. */
export function classicLoadBalancers(): Mends {
  const remembered = new Map<string, Remembered>();
  let serial = 0;

  const mended = (described: XmlElement, region: string): void => {
    const name = textOf(described, "LoadBalancerName") ?? "";
    const known = remembered.get(name);
    const host = hostOf(name, textOf(described, "Scheme"), region, known?.serial ?? 0);
    setChild(described, "DNSName", host);
    setChild(described, "CanonicalHostedZoneName", host);
    for (const each of listOf(described, "ListenerDescriptions")) {
      const listener = child(each, "Listener");
      const protocol = known?.instanceProtocols.get(textOf(listener, "LoadBalancerPort") ?? "");
      if (listener !== undefined && protocol !== undefined) setChild(listener, "InstanceProtocol", protocol);
    }
    const backends = [...(known?.backendPolicies ?? [])].filter(([, policies]) => policies.length > 0);
    setChild(
      described,
      "BackendServerDescriptions",
      backends.map(([port, policies]) =>
        element("member", [
          element("InstancePort", port),
          element(
            "PolicyNames",
            policies.map((policy) => element("member", policy)),
          ),
        ]),
      ),
    );
  };

  const create: Mend = async (call, next, behind) => {
    const wrong = wrongListeners(call) ?? (await zonesTwice(call.parameters.list("Subnets.member"), behind));
    if (wrong !== undefined) return faultOf(call, "InvalidConfigurationRequest", wrong);
    const answer = await next(call);
    if (!succeeded(answer)) return answer;
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
    return answerOf(call, [element("DNSName", host)]);
  };

  const createListeners: Mend = async (call, next) => {
    const wrong = wrongListeners(call);
    if (wrong !== undefined) return faultOf(call, "InvalidConfigurationRequest", wrong);
    const answer = await next(call);
    const known = remembered.get(call.parameters.text("LoadBalancerName") ?? "");
    if (succeeded(answer) && known !== undefined) rememberProtocols(call, known);
    return answer;
  };

  // One by one: moto keeps all listeners as often as several are taken away.
  const deleteListeners: Mend = async (call, next) => {
    let answer: Answer = answerOf(call, []);
    const known = remembered.get(call.parameters.text("LoadBalancerName") ?? "");
    for (const port of call.parameters.list("LoadBalancerPorts.member")) {
      answer = await next(withList(call, "LoadBalancerPorts.member", [port]));
      if (!succeeded(answer)) return answer;
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
    const listeners = listOf(await described(name, behind), "ListenerDescriptions");
    const known = remembered.get(name)?.backendPolicies;
    const isServed = listeners.some((each) => textOf(child(each, "Listener"), "InstancePort") === port);
    // Policies outlive the last listener of their port, and can be taken off: the stock controller relies on both.
    if (!isServed && (policies.length > 0 || known?.get(port) === undefined))
      return faultOf(call, "InvalidConfigurationRequest", `There is no listener with instance port ${port}`);
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
      return faultOf(call, "DuplicatePolicyName", `Policy ${policy} already exists`);
    },
    "elb:RegisterInstancesWithLoadBalancer": register,
    "elb:DeregisterInstancesFromLoadBalancer": async (call, next, behind) => {
      const answer = await next(call);
      return succeeded(answer) ? instancesAnswer(call, behind) : answer;
    },
    "elb:AttachLoadBalancerToSubnets": async (call, next, behind) => {
      const name = call.parameters.text("LoadBalancerName") ?? "";
      const now = listOf(await described(name, behind), "Subnets").map(({ text }) => text.trim());
      const wanted = new Set([...now, ...call.parameters.list("Subnets.member")]);
      const wrong = await zonesTwice([...wanted], behind);
      return wrong === undefined ? next(call) : faultOf(call, "InvalidConfigurationRequest", wrong);
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
    if (succeeded(answer))
      for (const each of listOf(resultOf(answer), "LoadBalancerDescriptions")) mended(each, call.region);
    return answer;
  };
  return { byOperation, forget: () => remembered.clear(), kept: [remembered] };
}

/** Operations on one load balancer for whose absence moto has no answer. */
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
      return faultOf(call, "LoadBalancerNotFound", `There is no ACTIVE Load Balancer named '${name}'`);
    return mend(call, next, behind);
  };
}

async function described(name: string, behind: Behind): Promise<XmlElement | undefined> {
  const found = await behind
    .ask("elb", "DescribeLoadBalancers", { "LoadBalancerNames.member.1": name })
    .catch(() => undefined);
  return listOf(found, "LoadBalancerDescriptions").at(0);
}

async function missingPolicy(
  loadBalancer: string,
  policies: readonly string[],
  behind: Behind,
): Promise<string | undefined> {
  if (policies.length === 0) return undefined;
  const found = await behind.ask("elb", "DescribeLoadBalancerPolicies", { LoadBalancerName: loadBalancer });
  const known = listOf(found, "PolicyDescriptions").map((each) => textOf(each, "PolicyName"));
  return policies.find((policy) => !known.includes(policy) && !policy.startsWith("ELBSecurityPolicy-"));
}

function missingPolicyFault(call: Call, policy: string): Answer {
  return faultOf(call, "PolicyNotFound", `There is no policy with name ${policy}`);
}

// What is registered already is registered once, and one id that is none fails the call.
const register: Mend = async (call, next, behind) => {
  const name = call.parameters.text("LoadBalancerName") ?? "";
  const ids = call.parameters.structures("Instances.member").map((each) => each.text("InstanceId") ?? "");
  const found = await behind.ask("ec2", "DescribeInstances", filterForm("instance-id", ids));
  const known = listOf(found, "reservationSet")
    .flatMap((each) => listOf(each, "instancesSet"))
    .filter((each) => textOf(child(each, "instanceState"), "name") !== "terminated")
    .map((each) => textOf(each, "instanceId"));
  const bad = ids.find((id) => !known.includes(id));
  if (bad !== undefined) return faultOf(call, "InvalidInstance", `Could not find EC2 instance ${bad}.`);
  const registered = listOf(await described(name, behind), "Instances").map((each) =>
    textOf(each, "InstanceId"),
  );
  const fresh = [...new Set(ids)].filter((id) => !registered.includes(id));
  if (fresh.length > 0) {
    const instances = Object.fromEntries(
      fresh.map((id, index) => [`Instances.member.${index + 1}.InstanceId`, id]),
    );
    const answer = await next(withParameters(withoutList(call, "Instances.member"), instances));
    if (!succeeded(answer)) return answer;
  }
  return instancesAnswer(call, behind);
};

async function instancesAnswer(call: Call, behind: Behind): Promise<Answer> {
  const now = await described(call.parameters.text("LoadBalancerName") ?? "", behind);
  return answerOf(call, [element("Instances", listOf(now, "Instances"))]);
}

const describeAttributes: Mend = async (call, next) => {
  const answer = await next(call);
  if (!succeeded(answer)) return answer;
  const attributes = child(resultOf(answer), "LoadBalancerAttributes");
  const draining = child(attributes, "ConnectionDraining");
  if (draining !== undefined && child(draining, "Timeout") === undefined)
    setChild(draining, "Timeout", "300");
  const additional = listOf(attributes, "AdditionalAttributes");
  // AWS shows the default of what was never set; moto shows it once anything has been modified.
  const byKey = new Map([DEFAULT_DESYNC_MODE, ...additional].map((each) => [textOf(each, "Key"), each]));
  if (attributes !== undefined) setChild(attributes, "AdditionalAttributes", [...byKey.values()]);
  return answer;
};

const DEFAULT_DESYNC_MODE = element("member", [
  element("Key", "elb.http.desyncmitigationmode"),
  element("Value", "defensive"),
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
