import type { Body } from "#clouds/digitalocean/load-balancers/body.ts";
import type { LoadBalancerConfiguration } from "#clouds/digitalocean/load-balancers/configuration.ts";
import type { DesiredState, ServiceReading } from "#clouds/digitalocean/load-balancers/desired-state.ts";
import type { Kind } from "#clouds/digitalocean/load-balancers/eligible-targets.ts";
import { formatClusterTag } from "#clouds/digitalocean/load-balancers/ownership.ts";
import type { DigitalOceanState } from "#clouds/digitalocean/load-balancers/state.ts";
import type { LoadBalancerStep } from "#core/service/model.ts";

/** The desired load balancer, existing or not. */
export interface PlanContext {
  readonly reading: ServiceReading;
  readonly kind: Kind;
  readonly desired: DesiredState;
  readonly state: DigitalOceanState;
  readonly configuration: LoadBalancerConfiguration;
}

/** Builds a step with one request. */
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
export function listOwnTags({ clusterID }: LoadBalancerConfiguration): readonly string[] {
  return clusterID === undefined ? [] : [formatClusterTag(clusterID)];
}

/** Sorts ids as numbers, independent of their arrival. */
export function sortIds(ids: readonly string[]): readonly string[] {
  return [...new Set(ids)].sort((one, other) => one.length - other.length || (one < other ? -1 : 1));
}

/** It is observed again until it is active. */
export const PROVISIONING: LoadBalancerStep = {
  kind: "wait",
  because: { code: "Provisioning", message: "DigitalOcean is making the load balancer" },
  afterSeconds: 15,
};

/** Existing targets stay until the nodes are known. */
export const NODES_UNKNOWN: LoadBalancerStep = {
  kind: "wait",
  because: { code: "TargetsUnknown", message: "the droplets of all nodes are unknown" },
  afterSeconds: 30,
};

/** A new node causes its own event. */
export const NO_NODES: LoadBalancerStep = {
  kind: "wait",
  because: { code: "NoTargets", message: "there is no node that the load balancer could send to" },
  afterSeconds: 300,
};
