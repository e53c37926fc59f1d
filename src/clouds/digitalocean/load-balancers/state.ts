import type { Allow } from "#clouds/digitalocean/config.ts";
import type { LoadBalancerType } from "#clouds/digitalocean/load-balancers/annotations/table.ts";
import type { Certificate, LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";
import type { Settings } from "#core/settings.ts";

/** A node as a possible target of a load balancer. */
export type TargetDroplet =
  | {
      readonly kind: "droplet";
      readonly node: string;
      /** Decimal digits. */
      readonly id: string;
      readonly hasPublicV4: boolean;
      readonly hasPublicV6: boolean;
      readonly hasPrivateV4: boolean;
    }
  /** The droplet is unknown, or whether it exists: it stays if it is a target, and is not added. */
  | { readonly kind: "unknown"; readonly node: string; readonly id: string | undefined }
  /** DigitalOcean says that it does not exist. */
  | { readonly kind: "absent"; readonly node: string }
  /** It is not a droplet of the cluster, and is left out. */
  | { readonly kind: "not-ours"; readonly node: string; readonly message: string };

/** The capability's observation of one Service. */
export interface DigitalOceanState {
  /**
   * All that the Service may refer to: by the id in its annotation, by its requested name, by its default
   * name.
   */
  readonly balancers: readonly LoadBalancer[];
  readonly targets: readonly TargetDroplet[];
  /**
   * The existing certificates of those that annotations and the load balancer name; undefined if the token may not
   * read certificates.
   */
  readonly certificates: readonly Certificate[] | undefined;
  /** The body of a replacement in this round; it is not sent twice, because the result would be equal. */
  readonly sent?: string | undefined;
}

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
