import * as z from "zod";
import { ObjectName } from "#clouds/config-fields.ts";
import { parseCidr } from "#core/cidr.ts";

/** How keepalived forwards packets. */
export const ForwardMethod = z.enum(["NAT", "DR", "PROXY"]);
export type ForwardMethod = z.output<typeof ForwardMethod>;

/**
 * A cluster whose load balancers are addresses that keepalived announces, as configured in a ConfigMap of the
 * cluster.
 */
export const KeepalivedCloudConfig = z.strictObject({
  provider: z.literal("keepalived"),
  /** Namespace of the ConfigMap. */
  namespace: ObjectName.prefault("kube-system"),
  /** Must exist; it is never created. */
  configMap: ObjectName,
  /**
   * Addresses for Services that name none. IPv4 only: they are keys of the ConfigMap, which cannot contain a
   * colon.
   */
  serviceCIDR: z
    .string()
    .refine((text) => parseCidr(text)?.family === 4, { error: "an IPv4 network such as 10.210.38.64/26" }),
  /** For Services that name none; an empty method is not written. */
  defaultForwardMethod: z.union([ForwardMethod, z.literal("")]).prefault(""),
  /** Whether a Service may name an address outside of `serviceCIDR`. */
  outsidePool: z.enum(["allow", "refuse"]).prefault("allow"),
  /** Whether nodes are initialized from their kubelets' data, or left to others. */
  nodes: z.enum(["no-cloud", "none"]).prefault("no-cloud"),
});
export type KeepalivedCloudConfig = z.output<typeof KeepalivedCloudConfig>;
