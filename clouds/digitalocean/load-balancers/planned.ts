import { clusterTagOf } from "#clouds/digitalocean/load-balancers/belonging.ts";
import type { Body } from "#clouds/digitalocean/load-balancers/body.ts";
import type { LoadBalancerConfiguration } from "#clouds/digitalocean/load-balancers/configuration.ts";
import type { Kind } from "#clouds/digitalocean/load-balancers/eligible.ts";
import type { DigitalOceanState } from "#clouds/digitalocean/load-balancers/state.ts";
import type { Reading, Wanted } from "#clouds/digitalocean/load-balancers/wanted.ts";
import type { LoadBalancerStep } from "#core/service/model.ts";

/** What is wanted of a load balancer, whether it is there or not. */
export interface Planned {
  readonly reading: Reading;
  readonly kind: Kind;
  readonly wanted: Wanted;
  readonly state: DigitalOceanState;
  readonly configuration: LoadBalancerConfiguration;
}

/** One request. */
export function act(
  action: string,
  target: string,
  body: Body,
  message: string,
): Extract<LoadBalancerStep, { readonly kind: "act" }> {
  return {
    kind: "act",
    because: { code: action, message },
    actions: [{ action, target, parameters: { body } }],
  };
}

/** The tags of all load balancers of the cluster. */
export function ownTags({ clusterID }: LoadBalancerConfiguration): readonly string[] {
  return clusterID === undefined ? [] : [clusterTagOf(clusterID)];
}

/** As numbers, so that the order does not depend on who came when. */
export function sorted(ids: readonly string[]): readonly string[] {
  return [...new Set(ids)].sort((one, other) => one.length - other.length || (one < other ? -1 : 1));
}

/** It is looked at again until it is active. */
export const PROVISIONING: LoadBalancerStep = {
  kind: "wait",
  because: { code: "Provisioning", message: "DigitalOcean is making the load balancer" },
  afterSeconds: 15,
};

/** What there is stays until it can be told. */
export const NODES_UNKNOWN: LoadBalancerStep = {
  kind: "wait",
  because: { code: "TargetsUnknown", message: "of none of the nodes it can be told which droplet it is" },
  afterSeconds: 30,
};

/** A node that comes is an event of its own. */
export const NO_NODES: LoadBalancerStep = {
  kind: "wait",
  because: { code: "NoTargets", message: "there is no node that the load balancer could send to" },
  afterSeconds: 300,
};
