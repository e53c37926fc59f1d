import { readDisowned } from "#clouds/digitalocean/load-balancers/annotations/names.ts";
import { chooseTargets } from "#clouds/digitalocean/load-balancers/change.ts";
import { getConfiguration } from "#clouds/digitalocean/load-balancers/configuration.ts";
import { readKind } from "#clouds/digitalocean/load-balancers/eligible-targets.ts";
import { findLoadBalancer } from "#clouds/digitalocean/load-balancers/find-load-balancer.ts";
import type { DigitalOceanState } from "#clouds/digitalocean/load-balancers/state.ts";
import type { LoadBalancerAction, LoadBalancerModel } from "#core/service/model.ts";

/**
 * Returns the requests that keep a load balancer on the nodes while an annotation is rejected: missing
 * droplets are added before others are removed. They name only droplets, so that no other setting is sent.
 * Undefined if the load balancer is unproven, still being created or possibly disowned, or if no droplet of
 * the nodes is known.
 */
export const followNodesOnDigitalOcean: NonNullable<LoadBalancerModel["followNodes"]> = (
  { service },
  observed,
  settings,
) => {
  // The observation comes from our own capability, which has parsed the API's answers.
  const state = observed as DigitalOceanState;
  if (readDisowned(service) !== false) return undefined;
  const match = findLoadBalancer(service, state.balancers, getConfiguration(settings));
  if (match.kind !== "own" || match.balancer.status === "new") return undefined;
  const { balancer } = match;
  const targets = chooseTargets(state.targets, readKind(balancer), balancer);
  if (targets.length === 0) return undefined;
  const missing = targets.filter((id) => !balancer.droplet_ids.includes(id));
  const superfluous = balancer.droplet_ids.filter((id) => !targets.includes(id));
  return [
    ...buildChange("AddDroplets", balancer.id, missing),
    ...buildChange("RemoveDroplets", balancer.id, superfluous),
  ];
};

function buildChange(action: string, target: string, dropletIds: readonly string[]): LoadBalancerAction[] {
  return dropletIds.length === 0 ? [] : [{ action, target, parameters: { dropletIds } }];
}
