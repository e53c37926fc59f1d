import * as z from "zod";
import { isOcid } from "#clouds/oci/ocid.ts";

const text = z.string().optional().catch(undefined);
const DefinedTags = z.record(z.string(), z.record(z.string(), z.unknown())).optional().catch(undefined);

/** An instance as the API describes it, cut down to what is read. Without OCID it is none; what else is missing is a matter of its node. */
export const OciInstance = z.object({
  id: z.string().refine((id) => isOcid(id, "instance")),
  compartmentId: z.string(),
  displayName: z.string().catch(""),
  shape: text,
  region: text,
  availabilityDomain: text,
  faultDomain: text,
  lifecycleState: text,
  definedTags: DefinedTags,
});
export type OciInstance = z.output<typeof OciInstance>;

/** What ties a VNIC to an instance. */
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
  privateIp: text,
  publicIp: text,
  ipv6Addresses: z.array(z.string()).catch([]),
  hostnameLabel: text,
  definedTags: DefinedTags,
});
export type Vnic = z.output<typeof Vnic>;

/** Of a subnet, which network it is part of. */
export const Subnet = z.object({ id: z.string(), vcnId: z.string() });

/** A private IPv4 address of a VNIC. */
export const PrivateIp = z.object({
  id: z.string(),
  vnicId: text,
  isPrimary: z.boolean().catch(false),
  ipAddress: text,
  hostnameLabel: text,
});
export type PrivateIp = z.output<typeof PrivateIp>;

/** A public IPv4 address, and of which private one it is. */
export const PublicIp = z.object({ ipAddress: text, assignedEntityId: text });
export type PublicIp = z.output<typeof PublicIp>;

/** An IPv6 address of a VNIC. */
export const Ipv6 = z.object({ vnicId: text, ipAddress: z.string() });
export type Ipv6 = z.output<typeof Ipv6>;

/** Whether an instance has ended, or is about to. */
export function hasEnded({ lifecycleState }: OciInstance): boolean {
  return lifecycleState === "TERMINATED" || lifecycleState === "TERMINATING";
}
