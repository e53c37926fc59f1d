import { readDisowned } from "#clouds/digitalocean/load-balancers/annotations/names.ts";
import { chooseTargets } from "#clouds/digitalocean/load-balancers/change.ts";
import { configurationOf } from "#clouds/digitalocean/load-balancers/configuration.ts";
import { readKind } from "#clouds/digitalocean/load-balancers/eligible.ts";
import { ownOf } from "#clouds/digitalocean/load-balancers/own.ts";
import type { DigitalOceanState } from "#clouds/digitalocean/load-balancers/state.ts";
import type { LoadBalancerAction, LoadBalancerModel } from "#core/service/model.ts";

/**
 * Returns the requests that make a load balancer send to the nodes while an annotation is refused: missing droplets are added before
 * others are removed. They name droplets alone, so that no other setting is sent. Undefined where the load balancer cannot be told to be
 * the Service's or is still being made, where it may be disowned, and where no droplet of the nodes is known.
 */
export const followNodesOnDigitalOcean: NonNullable<LoadBalancerModel["followNodes"]> = (
  { service },
  observed,
  settings,
) => {
  // The observation is our own capability's, which has parsed what the API answered.
  const state = observed as DigitalOceanState;
  if (readDisowned(service) !== false) return undefined;
  const own = ownOf(service, state.balancers, configurationOf(settings));
  if (own.kind !== "own" || own.balancer.status === "new") return undefined;
  const { balancer } = own;
  const targets = chooseTargets(state.targets, readKind(balancer), balancer);
  if (targets.length === 0) return undefined;
  const missing = targets.filter((id) => !balancer.droplet_ids.includes(id));
  const superfluous = balancer.droplet_ids.filter((id) => !targets.includes(id));
  return [
    ...change("AddDroplets", balancer.id, missing),
    ...change("RemoveDroplets", balancer.id, superfluous),
  ];
};

function change(action: string, target: string, dropletIds: readonly string[]): LoadBalancerAction[] {
  return dropletIds.length === 0 ? [] : [{ action, target, parameters: { dropletIds } }];
}
