import { buildAction } from "#clouds/aws/load-balancers/actions.ts";
import { formatAnnotationName } from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import type { ClassicLoadBalancerState, SubnetState, VpcState } from "#clouds/aws/load-balancers/state.ts";
import type { Issue, LoadBalancerAction } from "#core/service/model.ts";

/** The actions that move a load balancer to other subnets, or why it cannot move. */
export interface SubnetChange {
  readonly actions: readonly LoadBalancerAction[];
  readonly issue?: Issue | undefined;
}

/**
 * Moves a load balancer to other subnets. AWS allows one per zone and requires at least one. To replace a
 * zone's subnet, the old one is detached first, which needs another one to stay meanwhile.
 */
export function planSubnets(
  { loadBalancer }: ClassicLoadBalancerState,
  desired: readonly SubnetState[],
  vpc: VpcState,
): SubnetChange {
  const name = loadBalancer.LoadBalancerName ?? "";
  const attached = new Set(loadBalancer.Subnets ?? []);
  const ids = new Set(desired.map(getSubnetId));
  const keptIds = [...attached].filter((id) => ids.has(id));
  const surplus = [...attached].filter((id) => !ids.has(id)).sort();
  const zones = new Set(vpc.subnets.filter((each) => attached.has(getSubnetId(each))).map(getSubnetZone));
  const missing = desired.filter((each) => !attached.has(getSubnetId(each)));
  const fitting = missing.filter((each) => !zones.has(getSubnetZone(each))).map(getSubnetId);
  if (fitting.length > 0) {
    const attach = buildAction("elb:AttachLoadBalancerToSubnets", name, {
      LoadBalancerName: name,
      Subnets: fitting,
    });
    return { actions: [attach] };
  }
  if (surplus.length === 0) return { actions: [] };
  const lastId = keptIds.length > 0 ? undefined : selectLastSubnet(surplus, missing, vpc);
  const detached = surplus.filter((id) => id !== lastId);
  if (detached.length === 0) return { actions: [], issue: buildSubnetsIssue(surplus, missing) };
  const detach = buildAction("elb:DetachLoadBalancerFromSubnets", name, {
    LoadBalancerName: name,
    Subnets: detached,
  });
  return { actions: [detach] };
}

/**
 * Selects the obsolete subnet that stays until the others are replaced: preferably one whose zone has no
 * replacement.
 */
function selectLastSubnet(
  surplus: readonly string[],
  missing: readonly SubnetState[],
  vpc: VpcState,
): string | undefined {
  const awaited = new Set(missing.map(getSubnetZone));
  const free = surplus.find((id) =>
    vpc.subnets.some((each) => getSubnetId(each) === id && !awaited.has(getSubnetZone(each))),
  );
  return free ?? surplus[0];
}

function buildSubnetsIssue(attachedIds: readonly string[], desired: readonly SubnetState[]): Issue {
  return {
    code: "SubnetsChanged",
    field: formatAnnotationName("subnets"),
    allowed: "an additional subnet in another zone",
    detail: `${attachedIds.join(", ")} is its only subnet, in the zone of ${desired.map(getSubnetId).join(", ")}`,
  };
}

/** Returns a subnet's id. */
export function getSubnetId({ subnet }: SubnetState): string {
  return subnet.SubnetId ?? "";
}

function getSubnetZone({ subnet }: SubnetState): string {
  return subnet.AvailabilityZone ?? "";
}
