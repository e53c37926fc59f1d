import type { Instance } from "#core/instance.ts";
import type { Node, NodeAddress } from "#core/node/node.ts";
import { type NarrowedAddresses, narrowToProvidedNodeIp } from "#core/node/provided-node-ip.ts";

/**
 * The whole list that a node's addresses should be. An empty list of the cloud leaves them as they are, but not where the
 * kubelet's own --node-ip asks for one of them.
 */
export function desiredAddresses(node: Node, instance: Instance): NarrowedAddresses {
  const narrowed = narrowToProvidedNodeIp(node, instance.addresses);
  if (narrowed.kind === "mismatch") return narrowed;
  const current = node.status.addresses ?? [];
  if (instance.addresses.length === 0) return { kind: "addresses", addresses: current };
  // The kubelet's word for the hostname stands only where the cloud has none.
  if (narrowed.addresses.some(isHostname)) return narrowed;
  return { kind: "addresses", addresses: [...narrowed.addresses, ...current.filter(isHostname)] };
}

/** Whether a list says the same in the same order. */
export function isSameList(a: readonly NodeAddress[], b: readonly NodeAddress[]): boolean {
  return a.length === b.length && a.every((entry, index) => isSameAddress(entry, b[index]));
}

/** Whether a node with these addresses can be reached at all, and so may lose its taint. */
export function hasIp(addresses: readonly NodeAddress[]): boolean {
  return addresses.some(({ type }) => type === "InternalIP" || type === "ExternalIP");
}

function isHostname({ type }: NodeAddress): boolean {
  return type === "Hostname";
}

function isSameAddress(a: NodeAddress, b: NodeAddress | undefined): boolean {
  return a.type === b?.type && a.address === b.address;
}
