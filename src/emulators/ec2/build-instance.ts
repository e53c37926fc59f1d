import type { Ec2Instance, NetworkInterface } from "./instance.ts";
import { applyState } from "./instance.ts";
import type { InstanceSpec, InterfaceSpec } from "./instance-spec.ts";
import { formatId, formatPrivateDnsName, formatPublicDnsName } from "./names.ts";
import type { Zone } from "./zone.ts";

/** The site of new instances: their common facts. */
export interface InstanceSite {
  readonly region: string;
  readonly zones: readonly Zone[];
  /** The default owner account. */
  readonly account: string;
}

/** The default network of instances. */
export const DEFAULT_VPC_ID = formatId("vpc", 1);

/** Types whose network topology EC2 returns, by their families. */
const TOPOLOGY_TYPES = /^(hpc|trn|p)\d/;

/**
 * Builds an instance from its differences; index and time determine the rest, so the same call gives the same
 * instance.
 */
export function buildInstance(
  spec: InstanceSpec,
  index: number,
  site: InstanceSite,
  launchedAt: number,
): Ec2Instance {
  const zone = site.zones[index % site.zones.length];
  const availabilityZone = spec.availabilityZone ?? zone?.name ?? `${site.region}a`;
  const instanceType = spec.instanceType ?? "m7i.large";
  const privateIpAddress =
    spec.privateIpAddress ??
    spec.networkInterfaces?.[0]?.privateIpAddresses?.[0] ??
    buildPrivateAddress(index);
  const instance: Ec2Instance = {
    id: spec.id ?? formatId("i", index),
    ownerId: spec.account ?? site.account,
    state: "running",
    instanceType,
    availabilityZone,
    availabilityZoneId: site.zones.find(({ name }) => name === availabilityZone)?.id,
    vpcId: spec.vpcId ?? DEFAULT_VPC_ID,
    subnetId: spec.subnetId ?? formatId("subnet", 1 + (index % site.zones.length)),
    privateIpAddress,
    privateDnsName: spec.privateDnsName ?? formatPrivateDnsName(privateIpAddress, site.region),
    publicIpAddress: spec.publicIpAddress,
    publicDnsName:
      spec.publicDnsName ??
      (spec.publicIpAddress === undefined ? "" : formatPublicDnsName(spec.publicIpAddress, site.region)),
    networkInterfaces: [],
    tags: spec.tags ?? {},
    networkNodes:
      spec.networkNodes ?? (TOPOLOGY_TYPES.test(instanceType) ? listNetworkNodes(index) : undefined),
    launchedAt,
  };
  const interfaces = spec.networkInterfaces ?? [
    { privateIpAddresses: [privateIpAddress], ipv6Addresses: spec.ipv6Addresses },
  ];
  const networkInterfaces = interfaces.map((each, position) =>
    buildInterface(each, position, instance, index, site.region),
  );
  return applyState({ ...instance, networkInterfaces }, spec.state ?? "running");
}

/** The maximum of interfaces of an instance, which keeps interface IDs unique. */
const INTERFACES_PER_INSTANCE = 64;

function buildInterface(
  spec: InterfaceSpec,
  position: number,
  instance: Ec2Instance,
  index: number,
  region: string,
): NetworkInterface {
  const number = index * INTERFACES_PER_INSTANCE + position;
  const addresses = spec.privateIpAddresses ?? [buildSecondaryAddress(index, position)];
  const status = spec.status ?? "in-use";
  return {
    id: spec.id ?? formatId("eni", number),
    ownerId: instance.ownerId,
    vpcId: instance.vpcId ?? DEFAULT_VPC_ID,
    subnetId: instance.subnetId ?? "",
    availabilityZone: instance.availabilityZone,
    status,
    macAddress: buildMacAddress(number),
    privateIpAddresses: addresses,
    ipv6Addresses: spec.ipv6Addresses ?? [],
    privateDnsName: addresses[0] === undefined ? undefined : formatPrivateDnsName(addresses[0], region),
    publicIpAddress: position === 0 ? instance.publicIpAddress : undefined,
    attachment: {
      id: formatId("eni-attach", number),
      deviceIndex: spec.deviceIndex ?? position,
      status: spec.attachmentStatus ?? "attached",
      instanceId: instance.id,
      instanceOwnerId: instance.ownerId,
    },
    tags: {},
  };
}

/** Builds 10.0.0.1 for 1; all of 10.0.0.0/8 is used. */
function buildPrivateAddress(index: number): string {
  return `10.${toOctets(index).join(".")}`;
}

/**
 * Builds addresses of further interfaces: 100.64.0.0/10 has room for four of each of the first million
 * instances.
 */
function buildSecondaryAddress(index: number, position: number): string {
  if (position === 0) return buildPrivateAddress(index);
  const [high, middle, low] = toOctets((index * 4 + position) % 0x40_00_00);
  return `100.${64 + (high ?? 0)}.${middle}.${low}`;
}

function toOctets(number: number): readonly number[] {
  return [(number >> 16) & 0xff, (number >> 8) & 0xff, number & 0xff];
}

function buildMacAddress(number: number): string {
  const digits = number.toString(16).padStart(10, "0").slice(-10);
  return `02:${digits.match(/../g)?.join(":") ?? ""}`;
}

/** Eight hosts share the nearest switch, eight of these the next one, and all the top. */
function listNetworkNodes(index: number): readonly string[] {
  return [
    formatId("nn", 0x300_0000),
    formatId("nn", 0x200_0000 + (index >> 6)),
    formatId("nn", 0x100_0000 + (index >> 3)),
  ];
}
