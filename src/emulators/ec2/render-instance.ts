import { type Ec2Instance, type NetworkInterface, STATE_CODES, type Tags } from "./instance.ts";
import { formatId } from "./names.ts";
import { renderItems, type XmlContent } from "./xml.ts";

/** Renders a reservation with one instance, as an item of a `reservationSet`. */
export function renderReservation(instance: Ec2Instance): XmlContent {
  return {
    reservationId: instance.id.replace(/^i-/, "r-"),
    ownerId: instance.ownerId,
    groupSet: "",
    instancesSet: { item: renderInstance(instance) },
  };
}

/** Renders a network interface, as an item of DescribeNetworkInterfaces' `networkInterfaceSet`. */
export function renderNetworkInterface(value: NetworkInterface): XmlContent {
  const { attachment } = value;
  return {
    ...renderInterfaceCommon(value),
    availabilityZone: value.availabilityZone,
    interfaceType: "interface",
    requesterManaged: false,
    attachment: {
      ...renderAttachment(value),
      instanceId: attachment.instanceId,
      instanceOwnerId: attachment.instanceOwnerId,
    },
    tagSet: renderTags(value.tags),
  };
}

function renderInstance(instance: Ec2Instance): XmlContent {
  const { state } = instance;
  return {
    instanceId: instance.id,
    imageId: formatId("ami", 1),
    instanceState: { code: STATE_CODES[state], name: state },
    privateDnsName: instance.privateDnsName,
    dnsName: instance.publicDnsName,
    reason: "",
    amiLaunchIndex: 0,
    instanceType: instance.instanceType,
    launchTime: new Date(instance.launchedAt).toISOString(),
    placement: {
      availabilityZone: instance.availabilityZone,
      availabilityZoneId: instance.availabilityZoneId,
      groupName: "",
      tenancy: "default",
    },
    monitoring: { state: "disabled" },
    subnetId: instance.subnetId,
    vpcId: instance.vpcId,
    privateIpAddress: instance.privateIpAddress,
    ipAddress: instance.publicIpAddress,
    architecture: "x86_64",
    tagSet: renderTags(instance.tags),
    hypervisor: "xen",
    networkInterfaceSet: renderItems(instance.networkInterfaces, (each) => ({
      ...renderInterfaceCommon(each),
      attachment: renderAttachment(each),
    })),
  };
}

function renderInterfaceCommon(value: NetworkInterface): { readonly [name: string]: XmlContent } {
  return {
    networkInterfaceId: value.id,
    subnetId: value.subnetId,
    vpcId: value.vpcId,
    description: "",
    ownerId: value.ownerId,
    status: value.status,
    macAddress: value.macAddress,
    privateIpAddress: value.privateIpAddresses[0],
    privateDnsName: value.privateDnsName,
    sourceDestCheck: true,
    association: value.publicIpAddress === undefined ? undefined : { publicIp: value.publicIpAddress },
    privateIpAddressesSet: renderItems(value.privateIpAddresses, (address) => ({
      privateIpAddress: address,
      primary: address === value.privateIpAddresses[0],
    })),
    ipv6AddressesSet: renderItems(value.ipv6Addresses, (address) => ({ ipv6Address: address })),
  };
}

function renderAttachment({ attachment }: NetworkInterface): { readonly [name: string]: XmlContent } {
  return {
    attachmentId: attachment.id,
    deviceIndex: attachment.deviceIndex,
    status: attachment.status,
    deleteOnTermination: true,
  };
}

function renderTags(tags: Tags): XmlContent {
  return renderItems(Object.entries(tags), ([key, value]) => ({ key, value }));
}
