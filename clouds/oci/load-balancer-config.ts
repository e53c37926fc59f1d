import * as z from "zod";
import { isOcid } from "#clouds/oci/ocid.ts";

const Subnet = z.string().refine((text) => text === "" || isOcid(text, "subnet"), {
  error: "the OCID of a subnet, which begins with ocid1.subnet.",
});

/** Freeform and defined tags, as Oracle's API takes them. */
export const Tags = z.strictObject({
  freeform: z.record(z.string().min(1).max(100), z.string().max(256)).optional(),
  defined: z.record(z.string().min(1).max(100), z.record(z.string().min(1).max(100), z.unknown())).optional(),
});
export type Tags = z.output<typeof Tags>;

/** The placement of load balancers, and the manager of their inbound rules. */
export const OciLoadBalancerConfig = z.strictObject({
  /** Disables load balancers for all Services. */
  disabled: z.boolean().optional(),
  subnet1: Subnet.optional(),
  subnet2: Subnet.optional(),
  securityListManagementMode: z.enum(["All", "Frontend", "None", "NSG"]).optional(),
  /** The security list with managed rules, by subnet. */
  securityLists: z.record(z.string(), z.string()).optional(),
});
export type OciLoadBalancerConfig = z.output<typeof OciLoadBalancerConfig>;
