import * as z from "zod";

/** The name of a certificate, an address or a subnet; a trailing `*` matches any suffix. */
const NamePattern = z.string().min(1).max(255);

const buildNameList = () => z.array(NamePattern).max(1_000).prefault([]);

/**
 * The account's resources that Services may name in annotations; by default none. DigitalOcean records no
 * owner of them.
 */
export const Allow = z.strictObject({
  /** By id or name; a Let's Encrypt certificate gets a new id with each renewal and keeps its name. */
  certificates: buildNameList(),
  /** Addresses of the customer's own range. */
  ips: buildNameList(),
  /** By id. */
  subnets: buildNameList(),
  /**
   * By id or name: load balancers without the cluster's tag that Services name in annotations, as after a
   * take-over.
   */
  loadBalancers: buildNameList(),
});
export type Allow = z.output<typeof Allow>;

/** The keys of `DigitalOceanCloudConfig` for load balancers. */
export const LOAD_BALANCER_KEYS = {
  /** Load balancers get the tag `k8s:<clusterID>`, and one with that tag belongs to the cluster. */
  clusterID: z
    .string()
    .regex(/^[\w:-]{1,200}$/, "letters, digits, colons, dashes, underscores")
    .optional(),
  defaultLoadBalancerType: z.enum(["REGIONAL_NETWORK", "REGIONAL"]).prefault("REGIONAL_NETWORK"),
  allow: Allow.prefault({}),
} as const;
