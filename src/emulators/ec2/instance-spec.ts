import * as z from "zod";
import { AttachmentStatus, InstanceStateName, InterfaceStatus } from "./instance.ts";

/** A network interface of an instance; missing fields follow from the instance's index. */
export const InterfaceSpec = z.strictObject({
  id: z.string().optional(),
  status: InterfaceStatus.optional(),
  attachmentStatus: AttachmentStatus.optional(),
  /** The first one is the primary one. */
  privateIpAddresses: z.array(z.ipv4()).optional(),
  ipv6Addresses: z.array(z.ipv6()).optional(),
  deviceIndex: z.int().nonnegative().optional(),
});
export type InterfaceSpec = z.output<typeof InterfaceSpec>;

/** When a new instance becomes visible: milliseconds after its creation, or not before it is revealed. */
export const VisibleAfter = z.union([z.int().nonnegative(), z.literal("until-revealed")]);
export type VisibleAfter = z.output<typeof VisibleAfter>;

/**
 * How an instance differs from the default one; IDs, names and addresses follow from `index`, by default the
 * next free one.
 */
export const InstanceSpec = z.strictObject({
  /** From 1, as it is the last part of the default private address. */
  index: z.int().min(1).max(0xff_ff_fe).optional(),
  id: z.string().optional(),
  /** The owner's account. */
  account: z.string().optional(),
  state: InstanceStateName.optional(),
  instanceType: z.string().optional(),
  availabilityZone: z.string().optional(),
  vpcId: z.string().optional(),
  subnetId: z.string().optional(),
  privateIpAddress: z.ipv4().optional(),
  privateDnsName: z.string().optional(),
  publicIpAddress: z.ipv4().optional(),
  publicDnsName: z.string().optional(),
  ipv6Addresses: z.array(z.ipv6()).optional(),
  /** In place of one interface with `privateIpAddress` and `ipv6Addresses`. */
  networkInterfaces: z.array(InterfaceSpec).optional(),
  tags: z.record(z.string(), z.string()).optional(),
  networkNodes: z.array(z.string()).optional(),
  /** In place of the endpoint's setting. */
  visibleAfterMs: VisibleAfter.optional(),
});
export type InstanceSpec = z.output<typeof InstanceSpec>;
