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
import { type Behind, listForm, type Mend, type Mends } from "../mend.ts";
import { createElement, findText, listDescendants, listMembers, setChild, type XmlElement } from "../xml.ts";
import type { Forwards } from "./forwards.ts";

/** A listener's settings after ModifyListener, in place of moto's. */
interface Override {
  readonly protocol: string;
  readonly sslPolicy: string | undefined;
  readonly certificate: string | undefined;
}

/** Mends of ELBv2 listeners. */
export function createListenerMends(forwards: Forwards): Mends {
  const overrides = new Map<string, Override>();

  const withOverride = (listener: XmlElement): XmlElement => {
    const override = overrides.get(findText(listener, "ListenerArn") ?? "");
    if (override !== undefined) {
      setChild(listener, "Protocol", override.protocol);
      setChild(listener, "SslPolicy", override.sslPolicy);
      const { certificate } = override;
      const certificates =
        certificate === undefined
          ? []
          : [createElement("member", [createElement("CertificateArn", certificate)])];
      setChild(listener, "Certificates", certificates);
    }
    if (!isEncrypted(findText(listener, "Protocol"))) setChild(listener, "SslPolicy", undefined);
    return listener;
  };
  const mended = (answer: Answer): Answer => {
    if (hasSucceeded(answer))
      for (const each of listMembers(getResult(answer), "Listeners")) withOverride(each);
    return answer;
  };
  const listenersOf = async (loadBalancer: string, behind: Behind): Promise<XmlElement[]> =>
    listMembers(
      await behind.ask("elbv2", "DescribeListeners", { LoadBalancerArn: loadBalancer }),
      "Listeners",
    ).map(withOverride);

  const create: Mend = async (call, next, behind) => {
    const { parameters } = call;
    const loadBalancer = parameters.text("LoadBalancerArn") ?? "";
    const exists = await behind
      .ask("elbv2", "DescribeListeners", { LoadBalancerArn: loadBalancer })
      .catch(() => undefined);
    if (exists === undefined) return next(call);
    const wrong = await wrongWith(call, parameters.text("Protocol"), loadBalancer, forwards, behind);
    if (wrong !== undefined) return wrong;
    const port = parameters.text("Port");
    const existing = (await listenersOf(loadBalancer, behind)).find(
      (each) => findText(each, "Port") === port,
    );
    if (existing !== undefined) {
      if (isSame(call, existing)) return buildAnswer(call, [createElement("Listeners", [existing])]);
      return buildFault(
        call,
        "DuplicateListener",
        `A listener already exists on this port for this load balancer (${port})`,
      );
    }
    const answer = await next(call);
    if (hasSucceeded(answer)) {
      const [made] = listMembers(getResult(answer), "Listeners");
      forwards.set(findText(made, "ListenerArn") ?? "", loadBalancer, groupsOf(call));
    }
    return mended(answer);
  };

  const modify: Mend = async (call, next, behind) => {
    const { parameters } = call;
    const arn = parameters.text("ListenerArn") ?? "";
    const loadBalancer = arn.replace(":listener/", ":loadbalancer/").split("/").slice(0, -1).join("/");
    const all = await listenersOf(loadBalancer, behind).catch(() => []);
    const existing = all.find((each) => findText(each, "ListenerArn") === arn);
    if (existing === undefined)
      return buildFault(call, "ListenerNotFound", "One or more listeners not found");
    const port = parameters.text("Port");
    if (all.some((each) => each !== existing && findText(each, "Port") === port))
      return buildFault(
        call,
        "DuplicateListener",
        `A listener already exists on this port for this load balancer (${port})`,
      );
    const protocol = parameters.text("Protocol") ?? findText(existing, "Protocol") ?? "";
    const certificate = certificateOf(call) ?? listDescendants(existing, "CertificateArn").at(0)?.text.trim();
    const wrong = await wrongWith(call, protocol, loadBalancer, forwards, behind, certificate);
    if (wrong !== undefined) return wrong;
    const bare = removeList(
      replaceParameters(call, { Protocol: undefined, SslPolicy: undefined }),
      "Certificates.member",
    );
    const answer = await next(bare);
    if (!hasSucceeded(answer)) return answer;
    const encrypted = isEncrypted(protocol);
    overrides.set(arn, {
      protocol,
      sslPolicy: encrypted
        ? (parameters.text("SslPolicy") ?? findText(existing, "SslPolicy") ?? "ELBSecurityPolicy-2016-08")
        : undefined,
      certificate: encrypted ? certificate : undefined,
    });
    const groups = groupsOf(call);
    if (groups.length > 0) forwards.set(arn, loadBalancer, groups);
    return mended(answer);
  };

  return {
    byOperation: {
      "elbv2:CreateListener": create,
      "elbv2:ModifyListener": modify,
      "elbv2:DescribeListeners": async (call, next) => {
        const asked = call.parameters.list("ListenerArns.member");
        const answer = mended(await next(call));
        const found = hasSucceeded(answer)
          ? listMembers(getResult(answer), "Listeners").length
          : asked.length;
        if (found >= asked.length) return answer;
        return buildFault(call, "ListenerNotFound", "One or more listeners not found");
      },
      "elbv2:DeleteListener": async (call, next) => {
        const answer = await next(call);
        if (hasSucceeded(answer)) forwards.deleteListener(call.parameters.text("ListenerArn") ?? "");
        return answer;
      },
      "elbv2:DeleteLoadBalancer": async (call, next) => {
        const answer = await next(call);
        if (hasSucceeded(answer)) forwards.deleteLoadBalancer(call.parameters.text("LoadBalancerArn") ?? "");
        return answer;
      },
    },
    forget: () => {
      overrides.clear();
      forwards.forget();
    },
    kept: [overrides, forwards.kept],
  };
}

/** Protocols of the target groups to which listeners of a protocol can forward. */
const FORWARDED: Readonly<Record<string, readonly string[]>> = {
  TCP: ["TCP", "TCP_UDP"],
  TLS: ["TCP", "TLS"],
  UDP: ["UDP", "TCP_UDP"],
  TCP_UDP: ["TCP_UDP"],
};

async function wrongWith(
  call: Call,
  protocol: string | undefined,
  loadBalancer: string,
  forwards: Forwards,
  behind: Behind,
  certificate = certificateOf(call),
): Promise<Answer | undefined> {
  const { parameters } = call;
  if (!isEncrypted(protocol) && parameters.text("SslPolicy") !== undefined)
    return buildFault(call, "ValidationError", `An SSL policy cannot be specified for ${protocol} listeners`);
  if (!isEncrypted(protocol) && certificateOf(call) !== undefined)
    return buildFault(call, "ValidationError", `A certificate cannot be specified for ${protocol} listeners`);
  if (isEncrypted(protocol) && certificate === undefined)
    return buildFault(call, "ValidationError", `A certificate must be specified for ${protocol} listeners`);
  const policy = parameters.text("SslPolicy");
  if (policy !== undefined) {
    const known = await behind.ask("elbv2", "DescribeSSLPolicies", listForm("Names.member", [policy]));
    if (listMembers(known, "SslPolicies").length === 0)
      return buildFault(call, "SSLPolicyNotFound", `SSL policy '${policy}' not found`);
  }
  const groups = groupsOf(call);
  const elsewhere = groups.find((arn) => forwards.loadBalancersOf(arn).some((each) => each !== loadBalancer));
  if (elsewhere !== undefined)
    return buildFault(
      call,
      "TargetGroupAssociationLimit",
      `The following target groups cannot be associated with more than one load balancer: ${elsewhere}`,
    );
  const fitting = FORWARDED[protocol ?? ""];
  if (groups.length === 0 || fitting === undefined) return undefined;
  const known = listMembers(await behind.ask("elbv2", "DescribeTargetGroups"), "TargetGroups");
  const unfit = known.find(
    (each) =>
      groups.includes(findText(each, "TargetGroupArn") ?? "") &&
      !fitting.includes(findText(each, "Protocol") ?? ""),
  );
  if (unfit === undefined) return undefined;
  return buildFault(
    call,
    "IncompatibleProtocols",
    `A listener of ${protocol} cannot forward to the target group ${findText(unfit, "TargetGroupName")} of ${findText(unfit, "Protocol")}`,
  );
}

function isSame(call: Call, existing: XmlElement): boolean {
  const { parameters } = call;
  const policy = parameters.text("SslPolicy");
  return (
    parameters.text("Protocol") === findText(existing, "Protocol") &&
    (policy === undefined || policy === findText(existing, "SslPolicy")) &&
    certificateOf(call) === listDescendants(existing, "CertificateArn").at(0)?.text.trim() &&
    groupsOf(call).toSorted().join() === arnsIn(existing).toSorted().join()
  );
}

function arnsIn(listener: XmlElement): string[] {
  const arns = listDescendants(listener, "TargetGroupArn").map(({ text }) => text.trim());
  return [...new Set(arns)];
}

function groupsOf({ form }: Call): string[] {
  const arns = Object.entries(form).flatMap(([key, value]) =>
    key.startsWith("DefaultActions.") && key.endsWith(".TargetGroupArn") ? [value] : [],
  );
  return [...new Set(arns)];
}

function certificateOf({ parameters }: Call): string | undefined {
  return parameters.structures("Certificates.member").at(0)?.text("CertificateArn");
}

function isEncrypted(protocol: string | undefined): boolean {
  return protocol === "TLS" || protocol === "HTTPS";
}
