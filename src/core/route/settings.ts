import * as z from "zod";
import { isIPv6Network } from "#core/cidr.ts";

/** An IPv4 or IPv6 network in CIDR notation. */
const Cidr = z.union([z.cidrv4(), z.cidrv6()], "a network such as 10.128.0.0/14 or fd00:10::/56");

/** The settings of routes to the pods of nodes. */
export const RouteSettings = z
  .strictObject({
    /** `--configure-cloud-routes`. */
    configure: z.boolean().prefault(true),
    /** `--cluster-cidr`: one network, or one of each family; without a network no route is created. */
    clusterCIDRs: z.array(Cidr).max(2).prefault([]),
    /**
     * `--route-reconciliation-period`: the interval between two comparisons of all routes without a change of nodes.
     */
    reconciliationSeconds: z.number().min(10).max(86_400).prefault(10),
  })
  .refine(({ clusterCIDRs }) => new Set(clusterCIDRs.map(isIPv6Network)).size === clusterCIDRs.length, {
    message: "two networks are one of IPv4 and one of IPv6",
    path: ["clusterCIDRs"],
  });
export type RouteSettings = z.output<typeof RouteSettings>;
