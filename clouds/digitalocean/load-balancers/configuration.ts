import type { Allow } from "#clouds/digitalocean/load-balancer-settings.ts";
import type { LoadBalancerType } from "#clouds/digitalocean/load-balancers/annotations/table.ts";
import type { Settings } from "#core/settings.ts";

/**
 * The part of a cluster's cloud configuration that its load balancers read: keys of the parsed
 * `DigitalOceanCloudConfig`.
 */
export interface LoadBalancerConfiguration {
  readonly region: string;
  readonly vpc?: string | undefined;
  readonly clusterID?: string | undefined;
  readonly defaultLoadBalancerType: LoadBalancerType;
  readonly allow: Allow;
}

/** Returns a cluster's settings as load balancers read them. */
export function getConfiguration({ cloud }: Settings): LoadBalancerConfiguration {
  // It was parsed as a `DigitalOceanCloudConfig`; the caller has chosen this model by its provider.
  return cloud as unknown as LoadBalancerConfiguration;
}

/** Whether the operator allows a resource, by any of its names. */
export function isAllowed(allowed: readonly string[], ...names: readonly string[]): boolean {
  return allowed.some((each) =>
    names.some((name) => (each.endsWith("*") ? name.startsWith(each.slice(0, -1)) : name === each)),
  );
}
