import * as z from "zod";

/** States of an instance, with EC2's numeric codes. */
export const STATE_CODES = {
  pending: 0,
  running: 16,
  "shutting-down": 32,
  terminated: 48,
  stopping: 64,
  stopped: 80,
} as const;

/** The name of a state, as EC2 writes it. */
export const InstanceStateName = z.enum([
  "pending",
  "running",
  "shutting-down",
  "terminated",
  "stopping",
  "stopped",
]);
export type InstanceStateName = keyof typeof STATE_CODES;

/** Whether a network interface is attached. */
export const InterfaceStatus = z.enum(["available", "associated", "attaching", "in-use", "detaching"]);
export type InterfaceStatus = z.output<typeof InterfaceStatus>;

/** The progress of an attachment. */
export const AttachmentStatus = z.enum(["attaching", "attached", "detaching", "detached"]);
export type AttachmentStatus = z.output<typeof AttachmentStatus>;

/** Tags by their keys. */
export type Tags = Readonly<Record<string, string>>;

/** The attachment of a network interface to its instance. */
export interface InterfaceAttachment {
  readonly id: string;
  readonly deviceIndex: number;
  readonly status: AttachmentStatus;
  readonly instanceId: string;
  readonly instanceOwnerId: string;
}

/** A network interface; the first private IPv4 address is the primary one. */
export interface NetworkInterface {
  readonly id: string;
  readonly ownerId: string;
  readonly vpcId: string;
  readonly subnetId: string;
  readonly availabilityZone: string;
  readonly status: InterfaceStatus;
  readonly macAddress: string;
  readonly privateIpAddresses: readonly string[];
  readonly ipv6Addresses: readonly string[];
  readonly privateDnsName: string | undefined;
  readonly publicIpAddress: string | undefined;
  readonly attachment: InterfaceAttachment;
  readonly tags: Tags;
}

/** An instance as EC2 shows it: missing DNS names are empty strings, other missing fields are undefined. */
export interface Ec2Instance {
  readonly id: string;
  readonly ownerId: string;
  readonly state: InstanceStateName;
  readonly instanceType: string;
  readonly availabilityZone: string;
  readonly availabilityZoneId: string | undefined;
  readonly vpcId: string | undefined;
  readonly subnetId: string | undefined;
  readonly privateIpAddress: string | undefined;
  readonly privateDnsName: string;
  readonly publicIpAddress: string | undefined;
  readonly publicDnsName: string;
  readonly networkInterfaces: readonly NetworkInterface[];
  readonly tags: Tags;
  /** Layers of the network above the host, furthest first; undefined if EC2 has no topology for the type. */
  readonly networkNodes: readonly string[] | undefined;
  /** Milliseconds since the epoch. */
  readonly launchedAt: number;
}

/**
 * Applies a change of state to an instance: a stopped one loses its public address, a terminated one its
 * network.
 */
export function applyState(instance: Ec2Instance, state: InstanceStateName): Ec2Instance {
  switch (state) {
    case "pending":
    case "running":
    case "stopping":
    case "shutting-down":
      return { ...instance, state };
    case "stopped":
      return { ...instance, state, publicIpAddress: undefined, publicDnsName: "" };
    case "terminated":
      return {
        ...instance,
        state,
        vpcId: undefined,
        subnetId: undefined,
        privateIpAddress: undefined,
        privateDnsName: "",
        publicIpAddress: undefined,
        publicDnsName: "",
        networkInterfaces: [],
      };
  }
}
