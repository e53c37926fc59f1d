import type { Allow } from "#clouds/digitalocean/load-balancer-settings.ts";
import type { LoadBalancerType } from "#clouds/digitalocean/load-balancers/annotations/table.ts";
import type { Settings } from "#core/settings.ts";

/** What of a cluster's cloud its load balancers depend on: keys of `DigitalOceanCloudConfig`, as that has parsed them. */
export interface LoadBalancerConfiguration {
  readonly region: string;
  readonly vpc?: string | undefined;
  readonly clusterID?: string | undefined;
  readonly defaultLoadBalancerType: LoadBalancerType;
  readonly allow: Allow;
}

/** A cluster's settings as load balancers read them. */
export function configurationOf({ cloud }: Settings): LoadBalancerConfiguration {
  // It was parsed as a `DigitalOceanCloudConfig`; whoever calls has chosen this model by its provider.
  return cloud as unknown as LoadBalancerConfiguration;
}

/** Whether the operator lets Services name it, by any of what it is called. */
export function isAllowed(allowed: readonly string[], ...names: readonly string[]): boolean {
  return allowed.some((each) =>
    names.some((name) => (each.endsWith("*") ? name.startsWith(each.slice(0, -1)) : name === each)),
  );
}
