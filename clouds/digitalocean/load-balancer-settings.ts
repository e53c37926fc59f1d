import * as z from "zod";

/** What a certificate, an address or a subnet is called; what ends in `*` stands for all that begin so. */
const Named = z.string().min(1).max(255);

const named = () => z.array(Named).max(1_000).prefault([]);

/** What of the account Services may name in annotations: DigitalOcean keeps no record of whose it is. Nothing unless the operator says so. */
export const Allow = z.strictObject({
  /** By id or by name; one of Let's Encrypt gets a new id with each renewal, and keeps its name. */
  certificates: named(),
  /** Addresses that were brought along. */
  ips: named(),
  /** By id. */
  subnets: named(),
  /** By id or by name: load balancers without the cluster's tag that Services name in annotations, as after a take-over. */
  loadBalancers: named(),
});
export type Allow = z.output<typeof Allow>;

/** The keys of `DigitalOceanCloudConfig` that are about load balancers. */
export const LOAD_BALANCER_KEYS = {
  /** Load balancers are tagged `k8s:<clusterID>`, and one with that tag is the cluster's. */
  clusterID: z
    .string()
    .regex(/^[\w:-]{1,200}$/, "letters, digits, colons, dashes, underscores")
    .optional(),
  defaultLoadBalancerType: z.enum(["REGIONAL_NETWORK", "REGIONAL"]).prefault("REGIONAL_NETWORK"),
  allow: Allow.prefault({}),
} as const;
