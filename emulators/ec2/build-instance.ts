import type { Ec2Instance, NetworkInterface } from "./instance.ts";
import { withState } from "./instance.ts";
import type { InstanceSpec, InterfaceSpec, ManagedInterfaceSpec } from "./instance-spec.ts";
import { idOf, privateDnsNameOf, publicDnsNameOf } from "./names.ts";
import type { Zone } from "./zone.ts";

/** Where instances are made: what is the same for all of them. */
export interface InstanceSite {
  readonly region: string;
  readonly zones: readonly Zone[];
  /** The account that owns what names no other. */
  readonly account: string;
}

/** The network of every instance that names no other. */
export const DEFAULT_VPC_ID = idOf("vpc", 1);

/** Types for which EC2 tells the network topology, by their families. */
const TOPOLOGY_TYPES = /^(hpc|trn|p)\d/;

/** AWS's own accounts stand behind interfaces that a service manages. */
const SERVICE_ACCOUNT = "999999999999";

/** An instance from what is special about it; index and time decide the rest, so the same call gives the same instance. */
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
    spec.privateIpAddress ?? spec.networkInterfaces?.[0]?.privateIpAddresses?.[0] ?? privateAddressOf(index);
  const instance: Ec2Instance = {
    id: spec.id ?? idOf("i", index),
    ownerId: spec.account ?? site.account,
    state: "running",
    instanceType,
    availabilityZone,
    availabilityZoneId: site.zones.find(({ name }) => name === availabilityZone)?.id,
    vpcId: spec.vpcId ?? DEFAULT_VPC_ID,
    subnetId: spec.subnetId ?? idOf("subnet", 1 + (index % site.zones.length)),
    privateIpAddress,
    privateDnsName: spec.privateDnsName ?? privateDnsNameOf(privateIpAddress, site.region),
    publicIpAddress: spec.publicIpAddress,
    publicDnsName:
      spec.publicDnsName ??
      (spec.publicIpAddress === undefined ? "" : publicDnsNameOf(spec.publicIpAddress, site.region)),
    networkInterfaces: [],
    tags: spec.tags ?? {},
    networkNodes:
      spec.networkNodes ?? (TOPOLOGY_TYPES.test(instanceType) ? networkNodesOf(index) : undefined),
    launchedAt,
  };
  const interfaces = spec.networkInterfaces ?? [
    { privateIpAddresses: [privateIpAddress], ipv6Addresses: spec.ipv6Addresses },
  ];
  const networkInterfaces = interfaces.map((each, position) =>
    interfaceOf(each, position, instance, index, site.region),
  );
  return withState({ ...instance, networkInterfaces }, spec.state ?? "running");
}

/** A network interface of no instance of the account, in use by a service unless told otherwise. */
export function buildManagedInterface(
  spec: ManagedInterfaceSpec,
  index: number,
  site: InstanceSite,
): NetworkInterface {
  const addresses = spec.privateIpAddresses ?? [managedAddressOf(index)];
  const primary = addresses[0];
  const name = spec.privateDnsName ?? (primary === undefined ? "" : privateDnsNameOf(primary, site.region));
  const status = spec.status ?? "in-use";
  return {
    id: spec.id ?? idOf("eni", MANAGED_IDS + index),
    ownerId: spec.account ?? site.account,
    vpcId: spec.vpcId ?? DEFAULT_VPC_ID,
    subnetId: spec.subnetId ?? idOf("subnet", 1),
    availabilityZone: spec.availabilityZone ?? site.zones[0]?.name ?? `${site.region}a`,
    status,
    macAddress: macAddressOf(MANAGED_IDS + index),
    privateIpAddresses: addresses,
    ipv6Addresses: spec.ipv6Addresses ?? [],
    privateDnsName: name === "" ? undefined : name,
    publicIpAddress: undefined,
    attachment:
      status === "available"
        ? undefined
        : {
            id: idOf("eni-attach", MANAGED_IDS + index),
            deviceIndex: 1,
            status: spec.attachmentStatus ?? "attached",
            instanceId: undefined,
            instanceOwnerId: SERVICE_ACCOUNT,
          },
    tags: spec.tags ?? {},
  };
}

/** Interfaces of an instance are numbered below this, managed ones from here. */
const MANAGED_IDS = 0x10_00_00_00_00;

/** No instance has more interfaces than this, so that interface ids do not meet. */
const INTERFACES_PER_INSTANCE = 64;

function interfaceOf(
  spec: InterfaceSpec,
  position: number,
  instance: Ec2Instance,
  index: number,
  region: string,
): NetworkInterface {
  const number = index * INTERFACES_PER_INSTANCE + position;
  const addresses = spec.privateIpAddresses ?? [secondaryAddressOf(index, position)];
  const status = spec.status ?? "in-use";
  return {
    id: spec.id ?? idOf("eni", number),
    ownerId: instance.ownerId,
    vpcId: instance.vpcId ?? DEFAULT_VPC_ID,
    subnetId: instance.subnetId ?? "",
    availabilityZone: instance.availabilityZone,
    status,
    macAddress: macAddressOf(number),
    privateIpAddresses: addresses,
    ipv6Addresses: spec.ipv6Addresses ?? [],
    privateDnsName: addresses[0] === undefined ? undefined : privateDnsNameOf(addresses[0], region),
    publicIpAddress: position === 0 ? instance.publicIpAddress : undefined,
    attachment: {
      id: idOf("eni-attach", number),
      deviceIndex: spec.deviceIndex ?? position,
      status: spec.attachmentStatus ?? "attached",
      instanceId: instance.id,
      instanceOwnerId: instance.ownerId,
    },
    tags: {},
  };
}

/** 10.0.0.1 for 1; all of 10.0.0.0/8 is used. */
function privateAddressOf(index: number): string {
  return `10.${octets(index).join(".")}`;
}

/** Further interfaces: 100.64.0.0/10 has room for four of each of the first million instances. */
function secondaryAddressOf(index: number, position: number): string {
  if (position === 0) return privateAddressOf(index);
  const [high, middle, low] = octets((index * 4 + position) % 0x40_00_00);
  return `100.${64 + (high ?? 0)}.${middle}.${low}`;
}

function managedAddressOf(index: number): string {
  const [, middle, low] = octets(index);
  return `192.168.${middle}.${low}`;
}

function octets(number: number): readonly number[] {
  return [(number >> 16) & 0xff, (number >> 8) & 0xff, number & 0xff];
}

function macAddressOf(number: number): string {
  const digits = number.toString(16).padStart(10, "0").slice(-10);
  return `02:${digits.match(/../g)?.join(":") ?? ""}`;
}

/** Eight hosts share the nearest switch, eight of these the next one, and all the top. */
function networkNodesOf(index: number): readonly string[] {
  return [
    idOf("nn", 0x300_0000),
    idOf("nn", 0x200_0000 + (index >> 6)),
    idOf("nn", 0x100_0000 + (index >> 3)),
  ];
}
