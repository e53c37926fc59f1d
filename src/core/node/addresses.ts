import type { TestOperation } from "#core/decision.ts";
import type { Instance, InstanceState } from "#core/instance.ts";
import { type Ip, isSameIp, parseIp } from "#core/ip.ts";
import { add, type Edit, formatPointer, NO_EDIT, test } from "#core/json-patch.ts";
import type { Issue } from "#core/node/issues.ts";
import type { Node, NodeAddress } from "#core/node/node.ts";
import { parseProvidedNodeIp } from "#core/node/provided-node-ip.ts";

/** The desired addresses of a node, or why they are unknown. */
export type DesiredAddresses =
  | { readonly kind: "addresses"; readonly addresses: readonly NodeAddress[] }
  | { readonly kind: "issue"; readonly issue: Issue };

/**
 * Returns the addresses of the node's instance in the cloud's order and spelling, with the kubelet's node IPs
 * first. They contain at least one InternalIP or ExternalIP; otherwise the result is an issue.
 */
export function getDesiredAddresses(node: Node, instance: Instance): DesiredAddresses {
  if (ENDED.has(instance.state))
    return withProblem("InstanceTerminated", `${instance.id} is ${instance.state}`);
  const provided = parseProvidedNodeIp(node);
  if (provided.kind === "invalid") return withProblem("ProvidedNodeIPInvalid", provided.message);
  if (provided.kind === "ips" && !hasAll(instance, provided.ips))
    return withProblem("ProvidedNodeIPUnmatched", describeUnmatched(provided.annotation, instance));
  const addresses = sortNodeIpsFirst(
    mergeAddresses(node, instance),
    provided.kind === "ips" ? provided.ips : [],
  );
  if (!addresses.some(isNodeIp)) return withProblem("NoNodeAddress", describeMissingNodeIp(instance));
  return { kind: "addresses", addresses };
}

/**
 * Replaces the whole list, guarded by the list that was read. Returns no edit if the addresses are equal,
 * those of each type in equal order.
 */
export function setAddresses(node: Node, addresses: readonly NodeAddress[]): Edit {
  const present = node.status.addresses;
  if (present !== undefined && isSameList(sortAddressesByType(present), sortAddressesByType(addresses)))
    return NO_EDIT;
  const path = formatPointer("status", "addresses");
  return { tests: [test(path, present ?? null)], operations: [add(path, addresses)] };
}

/** Returns a test that the node still has the addresses which the edit wrote. */
export function testAddressesUnchanged({ status }: Node, { operations: [edit] }: Edit): TestOperation {
  return test(formatPointer("status", "addresses"), edit?.op === "add" ? edit.value : status.addresses);
}

/**
 * Returns addresses grouped by type, because their order matters only within a type. The stock controller's
 * strategic merge patch of the whole list groups them by type on the API server. Such a list is as correct as
 * the cloud's own.
 */
export function sortAddressesByType(addresses: readonly NodeAddress[]): readonly NodeAddress[] {
  return addresses.toSorted((a, b) => Number(a.type > b.type) - Number(a.type < b.type));
}

/** States from which an instance never returns; its addresses no longer belong to it. */
const ENDED: ReadonlySet<InstanceState> = new Set(["shutting-down", "terminated"]);

/**
 * The cloud's list, with the kubelet's host name if the cloud has none. If the cloud's list is empty, the
 * node's own list.
 */
function mergeAddresses(node: Node, instance: Instance): readonly NodeAddress[] {
  const present = node.status.addresses ?? [];
  if (instance.addresses.length === 0) return present;
  if (instance.addresses.some(isHostname)) return instance.addresses;
  return [...instance.addresses, ...present.filter(isHostname)];
}

/** Node IPs come first, in their order; other addresses of their types are left out. */
function sortNodeIpsFirst(addresses: readonly NodeAddress[], ips: readonly Ip[]): readonly NodeAddress[] {
  const first = ips.flatMap((ip) => addresses.filter((address) => isAt(address, ip)));
  const claimed = new Set(first.map(({ type }) => type));
  return [...first, ...addresses.filter(({ type }) => !claimed.has(type))];
}

function hasAll(instance: Instance, ips: readonly Ip[]): boolean {
  return ips.every((ip) => instance.addresses.some((address) => isAt(address, ip)));
}

function isAt({ address }: NodeAddress, ip: Ip): boolean {
  const parsed = parseIp(address);
  return parsed !== undefined && isSameIp(parsed, ip);
}

function isHostname({ type }: NodeAddress): boolean {
  return type === "Hostname";
}

function isNodeIp({ type }: NodeAddress): boolean {
  return type === "InternalIP" || type === "ExternalIP";
}

function isSameList(a: readonly NodeAddress[], b: readonly NodeAddress[]): boolean {
  return (
    a.length === b.length &&
    a.every(({ type, address }, i) => type === b[i]?.type && address === b[i].address)
  );
}

function describeUnmatched(annotation: string, { id, addresses }: Instance): string {
  const addressText = addresses.map(({ address }) => address).join(", ") || "none";
  return `annotation ${annotation} names an address that instance ${id} does not have; it has ${addressText}`;
}

function describeMissingNodeIp({ id }: Instance): string {
  return `neither an InternalIP nor an ExternalIP is known of instance ${id}`;
}

function withProblem(code: Issue["code"], message: string): DesiredAddresses {
  return { kind: "issue", issue: { code, message } };
}
