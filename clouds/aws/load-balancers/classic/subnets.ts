import { awsAction } from "#clouds/aws/load-balancers/actions.ts";
import { annotationName } from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import type { ClassicLoadBalancerState, SubnetState, VpcState } from "#clouds/aws/load-balancers/state.ts";
import type { LoadBalancerAction, Problem } from "#core/service/model.ts";

/** What is to be done for a load balancer to be in other subnets, or why that cannot be. */
export interface SubnetChange {
  readonly actions: readonly LoadBalancerAction[];
  readonly problem?: Problem | undefined;
}

/**
 * Moves a load balancer to other subnets. AWS takes one in each zone, and one at least: a zone's subnet is exchanged by taking the
 * old one away first, which needs another to stay meanwhile.
 */
export function planSubnets(
  { loadBalancer }: ClassicLoadBalancerState,
  wanted: readonly SubnetState[],
  vpc: VpcState,
): SubnetChange {
  const name = loadBalancer.LoadBalancerName ?? "";
  const attached = new Set(loadBalancer.Subnets ?? []);
  const ids = new Set(wanted.map(idOf));
  const kept = [...attached].filter((id) => ids.has(id));
  const surplus = [...attached].filter((id) => !ids.has(id)).sort();
  const zones = new Set(vpc.subnets.filter((each) => attached.has(idOf(each))).map(zoneOf));
  const missing = wanted.filter((each) => !attached.has(idOf(each)));
  const fitting = missing.filter((each) => !zones.has(zoneOf(each))).map(idOf);
  if (fitting.length > 0) {
    const attach = awsAction("elb:AttachLoadBalancerToSubnets", name, {
      LoadBalancerName: name,
      Subnets: fitting,
    });
    return { actions: [attach] };
  }
  if (surplus.length === 0) return { actions: [] };
  const stays = kept.length > 0 ? undefined : lastToLeave(surplus, missing, vpc);
  const leaving = surplus.filter((id) => id !== stays);
  if (leaving.length === 0) return { actions: [], problem: notInPlace(surplus, missing) };
  const detach = awsAction("elb:DetachLoadBalancerFromSubnets", name, {
    LoadBalancerName: name,
    Subnets: leaving,
  });
  return { actions: [detach] };
}

/** Of what is to go, what stays until the rest is exchanged: the best is what nothing waits for. */
function lastToLeave(
  surplus: readonly string[],
  missing: readonly SubnetState[],
  vpc: VpcState,
): string | undefined {
  const awaited = new Set(missing.map(zoneOf));
  const free = surplus.find((id) =>
    vpc.subnets.some((each) => idOf(each) === id && !awaited.has(zoneOf(each))),
  );
  return free ?? surplus[0];
}

function notInPlace(from: readonly string[], to: readonly SubnetState[]): Problem {
  return {
    code: "SubnetsChanged",
    field: annotationName("subnets"),
    allowed: "a subnet of another zone besides",
    detail: `${from.join(", ")} is its only subnet, and ${to.map(idOf).join(", ")} is in the same zone`,
  };
}

/** A subnet's id. */
export function idOf({ subnet }: SubnetState): string {
  return subnet.SubnetId ?? "";
}

function zoneOf({ subnet }: SubnetState): string {
  return subnet.AvailabilityZone ?? "";
}
