import type { Certificate, LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";

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
  /** The existing certificates of those that annotations and the load balancer name. */
  readonly certificates: readonly Certificate[];
  /** The body of a replacement in this round; it is not sent twice, because the result would be equal. */
  readonly sent?: string | undefined;
}
