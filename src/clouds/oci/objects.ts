import * as z from "zod";
import { isOcid } from "#clouds/oci/regions.ts";

const optionalText = z.string().optional().catch(undefined);
const DefinedTags = z.record(z.string(), z.record(z.string(), z.unknown())).optional().catch(undefined);

/**
 * An instance in the API, reduced to the fields in use. The OCID is required; any other missing field
 * concerns only its node.
 */
export const OciInstance = z.object({
  id: z.string().refine((id) => isOcid(id, "instance")),
  compartmentId: z.string(),
  displayName: z.string().catch(""),
  shape: optionalText,
  region: optionalText,
  availabilityDomain: optionalText,
  faultDomain: optionalText,
  lifecycleState: optionalText,
  definedTags: DefinedTags,
});
export type OciInstance = z.output<typeof OciInstance>;

/** The attachment of a VNIC to an instance. */
export const VnicAttachment = z.object({
  instanceId: z.string(),
  vnicId: z
    .string()
    .refine((id) => isOcid(id, "vnic"))
    .optional()
    .catch(undefined),
  subnetId: z
    .string()
    .refine((id) => isOcid(id, "subnet"))
    .optional()
    .catch(undefined),
  lifecycleState: z.string(),
  timeCreated: z.string().catch(""),
});
export type VnicAttachment = z.output<typeof VnicAttachment>;

/** A VNIC with its addresses. */
export const Vnic = z.object({
  id: z.string(),
  isPrimary: z.boolean().catch(false),
  subnetId: z.string().refine((id) => isOcid(id, "subnet")),
  privateIp: optionalText,
  publicIp: optionalText,
  ipv6Addresses: z.array(z.string()).catch([]),
  hostnameLabel: optionalText,
  definedTags: DefinedTags,
});
export type Vnic = z.output<typeof Vnic>;

/** A subnet with its VCN. */
export const Subnet = z.object({ id: z.string(), vcnId: z.string() });

/** A private IPv4 address of a VNIC. */
export const PrivateIp = z.object({
  id: z.string(),
  vnicId: optionalText,
  isPrimary: z.boolean().catch(false),
  ipAddress: optionalText,
  hostnameLabel: optionalText,
});
export type PrivateIp = z.output<typeof PrivateIp>;

/** A public IPv4 address, and the private one to which it is assigned. */
export const PublicIp = z.object({ ipAddress: optionalText, assignedEntityId: optionalText });
export type PublicIp = z.output<typeof PublicIp>;

/** An IPv6 address of a VNIC. */
export const Ipv6 = z.object({ vnicId: optionalText, ipAddress: z.string() });
export type Ipv6 = z.output<typeof Ipv6>;

/** Whether an instance is terminated or terminating. */
export function hasEnded({ lifecycleState }: OciInstance): boolean {
  return lifecycleState === "TERMINATED" || lifecycleState === "TERMINATING";
}
