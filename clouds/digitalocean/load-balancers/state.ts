import type { Certificate, LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";

/** What there is of a node that a load balancer may send to. */
export type TargetDroplet =
  | {
      readonly kind: "droplet";
      readonly node: string;
      /** Digits. */
      readonly id: string;
      readonly hasPublicV4: boolean;
      readonly hasPublicV6: boolean;
      readonly hasPrivateV4: boolean;
    }
  /** Nobody could tell which droplet it is, or whether it is there: it stays where it is, and is not added. */
  | { readonly kind: "unknown"; readonly node: string; readonly id: string | undefined }
  /** DigitalOcean says that there is none. */
  | { readonly kind: "absent"; readonly node: string }
  /** It is no droplet of the cluster's, and is left out. */
  | { readonly kind: "not-ours"; readonly node: string; readonly message: string };

/** What the capability observed of one Service. */
export interface DigitalOceanState {
  /** Whatever the Service may mean: by the id in its annotation, by the name it asks for, by its own name. */
  readonly balancers: readonly LoadBalancer[];
  readonly targets: readonly TargetDroplet[];
  /** Those that are there of what annotations and the load balancer name. */
  readonly certificates: readonly Certificate[];
  /** What a replacement in this very round has sent: sent once more it would change as little. */
  readonly sent?: string | undefined;
}
