import type { TestOperation } from "#core/decision.ts";
import type { Instance, InstanceState } from "#core/instance.ts";
import { type Ip, isSameIp, parseIp } from "#core/ip.ts";
import { add, type Edit, NO_EDIT, pointer, test } from "#core/json-patch.ts";
import type { Node, NodeAddress } from "#core/node/node.ts";
import type { Problem } from "#core/node/problems.ts";
import { providedNodeIp } from "#core/node/provided-node-ip.ts";

/** The addresses that a node is to have, or why they cannot be told. */
export type DesiredAddresses =
  | { readonly kind: "addresses"; readonly addresses: readonly NodeAddress[] }
  | { readonly kind: "problem"; readonly problem: Problem };

/**
 * The addresses of the node's instance, in the cloud's order and spelling, with those first that the kubelet was told to
 * use. They always hold an InternalIP or an ExternalIP: a node that would be left without one is in problem.
 */
export function desiredAddresses(node: Node, instance: Instance): DesiredAddresses {
  if (ENDED.has(instance.state))
    return withProblem("InstanceTerminated", `${instance.id} is ${instance.state}`);
  const provided = providedNodeIp(node);
  if (provided.kind === "invalid") return withProblem("ProvidedNodeIPInvalid", provided.message);
  if (provided.kind === "ips" && !hasAll(instance, provided.ips))
    return withProblem("ProvidedNodeIPUnmatched", unmatched(provided.annotation, instance));
  const addresses = nodeIpsFirst(addressesFor(node, instance), provided.kind === "ips" ? provided.ips : []);
  if (!addresses.some(isNodeIp)) return withProblem("NoNodeAddress", withoutNodeIp(instance));
  return { kind: "addresses", addresses };
}

/**
 * Replaces the whole list, guarded by what was read of it; nothing where it has the same addresses already, those of each type in
 * the same order.
 */
export function setAddresses(node: Node, addresses: readonly NodeAddress[]): Edit {
  const present = node.status.addresses;
  if (present !== undefined && isSameList(byType(present), byType(addresses))) return NO_EDIT;
  const path = pointer("status", "addresses");
  return { tests: [test(path, present ?? null)], operations: [add(path, addresses)] };
}

/** That the node still has the addresses that it has after the edit. */
export function addressesKept({ status }: Node, { operations: [edit] }: Edit): TestOperation {
  return test(pointer("status", "addresses"), edit?.op === "add" ? edit.value : status.addresses);
}

/**
 * Addresses as far as their order means something: that of each type. A strategic merge patch of the whole list, as the stock controller
 * sends it, leaves them on the API server in groups by type, and such a list is as right as the cloud's own.
 */
export function byType(addresses: readonly NodeAddress[]): readonly NodeAddress[] {
  return addresses.toSorted((a, b) => Number(a.type > b.type) - Number(a.type < b.type));
}

/** States from which no instance comes back; its addresses are no longer its own. */
const ENDED: ReadonlySet<InstanceState> = new Set(["shutting-down", "terminated"]);

/** The cloud's list; with the kubelet's host name where it has none, and the node's own list where it is empty. */
function addressesFor(node: Node, instance: Instance): readonly NodeAddress[] {
  const present = node.status.addresses ?? [];
  if (instance.addresses.length === 0) return present;
  if (instance.addresses.some(isHostname)) return instance.addresses;
  return [...instance.addresses, ...present.filter(isHostname)];
}

/** Node IPs go first, in their order, and what else is of their types is left out. */
function nodeIpsFirst(addresses: readonly NodeAddress[], ips: readonly Ip[]): readonly NodeAddress[] {
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

function unmatched(annotation: string, { id, addresses }: Instance): string {
  const known = addresses.map(({ address }) => address).join(", ") || "none";
  return `annotation ${annotation} names an address that instance ${id} does not have; it has ${known}`;
}

function withoutNodeIp({ id }: Instance): string {
  return `neither an InternalIP nor an ExternalIP is known of instance ${id}`;
}

function withProblem(code: Problem["code"], message: string): DesiredAddresses {
  return { kind: "problem", problem: { code, message } };
}
