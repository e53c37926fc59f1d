import type { Listener } from "@aws-sdk/client-elastic-load-balancing-v2";
import { awsAction } from "#clouds/aws/load-balancers/actions.ts";
import type { NetworkContext } from "#clouds/aws/load-balancers/network/context.ts";
import type { PortWanted } from "#clouds/aws/load-balancers/network/ports.ts";
import { arnOf, type MatchedPort } from "#clouds/aws/load-balancers/network/target-groups.ts";
import type { NetworkLoadBalancerState } from "#clouds/aws/load-balancers/state.ts";
import { tagList, wantedTags } from "#clouds/aws/load-balancers/tags.ts";
import type { LoadBalancerAction } from "#core/service/model.ts";

/** What is to be done for each port to have its listener. */
export interface ListenersPlan {
  readonly create: readonly LoadBalancerAction[];
  /** After the targets of new target groups are registered, so that nothing is sent nowhere. */
  readonly modify: readonly LoadBalancerAction[];
  readonly remove: readonly LoadBalancerAction[];
  /** Target groups that listeners send to once all of it is done, or while it is not known where they are to send. */
  readonly used: ReadonlySet<string>;
  /** Listeners that are there before and after. */
  readonly kept: NetworkLoadBalancerState["listeners"];
}

/** Compares the listeners that there are with the ports; one whose target group is not there yet has to wait. */
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
    const there = balancer.listeners.find(({ listener }) => listener.Port === port.port)?.listener;
    const target = group === undefined ? undefined : arnOf(group.group);
    if (target === undefined) {
      for (const each of sendsTo(there)) used.add(each);
    } else {
      used.add(target);
      if (there === undefined) create.push(created(port, target, balancer, context));
      else if (cannotBecome(there, port, balancer)) {
        create.push(removed(there, context), created(port, target, balancer, context));
        replaced.add(there.ListenerArn);
      } else if (differs(there, port, target)) modify.push(modified(there, port, target, context));
    }
  }
  const ports: ReadonlySet<number | undefined> = new Set(matched.map(({ port }) => port.port));
  const remove = balancer.listeners
    .filter(({ listener }) => !ports.has(listener.Port))
    .map(({ listener }) => removed(listener, context));
  const kept = balancer.listeners.filter(
    ({ listener }) => ports.has(listener.Port) && !replaced.has(listener.ListenerArn),
  );
  // What AWS may refuse comes first, while there is little to be undone.
  const isTls = ({ parameters }: LoadBalancerAction) => parameters["Protocol"] === "TLS";
  if (balancer.listeners.length === 0) create.sort((one, other) => Number(isTls(other)) - Number(isTls(one)));
  return { create, modify, remove, used, kept };
}

function created(
  port: PortWanted,
  target: string,
  { loadBalancer }: NetworkLoadBalancerState,
  { name, owner }: NetworkContext,
): LoadBalancerAction {
  return awsAction("elbv2:CreateListener", `${name}:${port.port}`, {
    LoadBalancerArn: loadBalancer.LoadBalancerArn,
    Port: port.port,
    ...settingsOf(port, target),
    Tags: tagList(wantedTags(owner)),
  });
}

function modified(
  { ListenerArn }: Listener,
  port: PortWanted,
  target: string,
  { name }: NetworkContext,
): LoadBalancerAction {
  return awsAction("elbv2:ModifyListener", `${name}:${port.port}`, {
    ListenerArn,
    ...settingsOf(port, target),
  });
}

function removed({ ListenerArn, Port }: Listener, { name }: NetworkContext): LoadBalancerAction {
  return awsAction("elbv2:DeleteListener", `${name}:${Port}`, { ListenerArn });
}

function settingsOf({ protocol, certificate, policy }: PortWanted, target: string) {
  return {
    Protocol: protocol,
    DefaultActions: [{ Type: "forward" as const, TargetGroupArn: target }],
    ...(protocol === "TLS" ? { Certificates: [{ CertificateArn: certificate }] } : {}),
    ...(protocol === "TLS" && policy !== undefined ? { SslPolicy: policy } : {}),
  };
}

function differs(there: Listener, port: PortWanted, target: string): boolean {
  const [sole, ...more] = sendsTo(there);
  if (there.Protocol !== port.protocol || sole !== target || more.length > 0) return true;
  if (port.protocol !== "TLS") return false;
  // Without an annotation the policy is AWS's to choose, and which that is changes.
  const isPolicy = port.policy === undefined || there.SslPolicy === port.policy;
  return there.Certificates?.[0]?.CertificateArn !== port.certificate || !isPolicy;
}

/** AWS changes no listener to UDP where clients come by IPv6, too. */
function cannotBecome(
  there: Listener,
  port: PortWanted,
  { loadBalancer }: NetworkLoadBalancerState,
): boolean {
  const isUdp = port.protocol === "UDP" || port.protocol === "TCP_UDP";
  return isUdp && there.Protocol !== port.protocol && loadBalancer.IpAddressType === "dualstack";
}

function sendsTo(listener: Listener | undefined): readonly string[] {
  return (listener?.DefaultActions ?? []).flatMap(({ TargetGroupArn, ForwardConfig }) => [
    ...new Set([
      ...(TargetGroupArn === undefined ? [] : [TargetGroupArn]),
      ...(ForwardConfig?.TargetGroups ?? []).flatMap((each) => each.TargetGroupArn ?? []),
    ]),
  ]);
}
