import type { Listener } from "@aws-sdk/client-elastic-load-balancing-v2";
import { buildAction } from "#clouds/aws/load-balancers/actions.ts";
import type { NetworkContext } from "#clouds/aws/load-balancers/network/context.ts";
import type { DesiredPort } from "#clouds/aws/load-balancers/network/ports.ts";
import { getTargetGroupArn, type MatchedPort } from "#clouds/aws/load-balancers/network/target-groups.ts";
import type { NetworkLoadBalancerState } from "#clouds/aws/load-balancers/state.ts";
import { buildServiceTags, toTagList } from "#clouds/aws/load-balancers/tags.ts";
import type { LoadBalancerAction } from "#core/service/model.ts";

/** The actions that give each port its listener. */
export interface ListenersPlan {
  readonly create: readonly LoadBalancerAction[];
  /**
   * Sent after the targets of new target groups are registered, so that no listener leads to an empty group.
   */
  readonly modify: readonly LoadBalancerAction[];
  readonly remove: readonly LoadBalancerAction[];
  /** Target groups that listeners use after all actions, or while their future target group is unknown. */
  readonly used: ReadonlySet<string>;
  /** Listeners that exist before and after the change. */
  readonly keptListeners: NetworkLoadBalancerState["listeners"];
}

/** Compares existing listeners with the ports; a port whose target group does not exist yet waits. */
export function planListeners(
  matched: readonly MatchedPort[],
  balancer: NetworkLoadBalancerState,
  context: NetworkContext,
): ListenersPlan {
  const create: LoadBalancerAction[] = [];
  const modify: LoadBalancerAction[] = [];
  const used = new Set<string>();
  const replaced = new Set<string | undefined>();
  for (const { port, group } of matched) {
    const existing = balancer.listeners.find(({ listener }) => listener.Port === port.port)?.listener;
    const target = group === undefined ? undefined : getTargetGroupArn(group.group);
    if (target === undefined) {
      for (const each of listTargetGroups(existing)) used.add(each);
    } else {
      used.add(target);
      if (existing === undefined) create.push(buildCreateListener(port, target, balancer, context));
      else if (needsReplacement(existing, port, balancer)) {
        create.push(
          buildDeleteListener(existing, context),
          buildCreateListener(port, target, balancer, context),
        );
        replaced.add(existing.ListenerArn);
      } else if (isDifferent(existing, port, target))
        modify.push(buildModifyListener(existing, port, target, context));
    }
  }
  const ports: ReadonlySet<number | undefined> = new Set(matched.map(({ port }) => port.port));
  const remove = balancer.listeners
    .filter(({ listener }) => !ports.has(listener.Port))
    .map(({ listener }) => buildDeleteListener(listener, context));
  const keptListeners = balancer.listeners.filter(
    ({ listener }) => ports.has(listener.Port) && !replaced.has(listener.ListenerArn),
  );
  // Actions that AWS may reject come first, while little must be undone.
  const isTls = ({ parameters }: LoadBalancerAction) => parameters["Protocol"] === "TLS";
  if (balancer.listeners.length === 0) create.sort((one, other) => Number(isTls(other)) - Number(isTls(one)));
  return { create, modify, remove, used, keptListeners };
}

function buildCreateListener(
  port: DesiredPort,
  target: string,
  { loadBalancer }: NetworkLoadBalancerState,
  { name, owner }: NetworkContext,
): LoadBalancerAction {
  return buildAction("elbv2:CreateListener", `${name}:${port.port}`, {
    LoadBalancerArn: loadBalancer.LoadBalancerArn,
    Port: port.port,
    ...buildListenerSettings(port, target),
    Tags: toTagList(buildServiceTags(owner)),
  });
}

function buildModifyListener(
  { ListenerArn }: Listener,
  port: DesiredPort,
  target: string,
  { name }: NetworkContext,
): LoadBalancerAction {
  return buildAction("elbv2:ModifyListener", `${name}:${port.port}`, {
    ListenerArn,
    ...buildListenerSettings(port, target),
  });
}

function buildDeleteListener({ ListenerArn, Port }: Listener, { name }: NetworkContext): LoadBalancerAction {
  return buildAction("elbv2:DeleteListener", `${name}:${Port}`, { ListenerArn });
}

function buildListenerSettings({ protocol, certificate, policy }: DesiredPort, target: string) {
  return {
    Protocol: protocol,
    DefaultActions: [{ Type: "forward" as const, TargetGroupArn: target }],
    ...(protocol === "TLS" ? { Certificates: [{ CertificateArn: certificate }] } : {}),
    ...(protocol === "TLS" && policy !== undefined ? { SslPolicy: policy } : {}),
  };
}

function isDifferent(listener: Listener, port: DesiredPort, target: string): boolean {
  const [sole, ...more] = listTargetGroups(listener);
  if (listener.Protocol !== port.protocol || sole !== target || more.length > 0) return true;
  if (port.protocol !== "TLS") return false;
  // Without an annotation AWS chooses the policy, and its choice changes over time.
  const isPolicyCurrent = port.policy === undefined || listener.SslPolicy === port.policy;
  return listener.Certificates?.[0]?.CertificateArn !== port.certificate || !isPolicyCurrent;
}

/** Whether a listener must be replaced. AWS cannot change one to UDP if clients also use IPv6. */
function needsReplacement(
  listener: Listener,
  port: DesiredPort,
  { loadBalancer }: NetworkLoadBalancerState,
): boolean {
  const isUdp = port.protocol === "UDP" || port.protocol === "TCP_UDP";
  return isUdp && listener.Protocol !== port.protocol && loadBalancer.IpAddressType === "dualstack";
}

function listTargetGroups(listener: Listener | undefined): readonly string[] {
  return (listener?.DefaultActions ?? []).flatMap(({ TargetGroupArn, ForwardConfig }) => [
    ...new Set([
      ...(TargetGroupArn === undefined ? [] : [TargetGroupArn]),
      ...(ForwardConfig?.TargetGroups ?? []).flatMap((each) => each.TargetGroupArn ?? []),
    ]),
  ]);
}
