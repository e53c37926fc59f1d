import { PROVIDED_NODE_IP_ANNOTATION } from "#core/contracts.ts";
import { type IpAddress, isSameIp, parseIp } from "#core/node/ip.ts";
import type { Node, NodeAddress } from "#core/node/node.ts";

/** The cloud's addresses as the kubelet's --node-ip lets them stand, or why the two do not go together. */
export type NarrowedAddresses =
  | { readonly kind: "addresses"; readonly addresses: readonly NodeAddress[] }
  | { readonly kind: "mismatch"; readonly message: string };

/**
 * Puts the addresses that the annotation names first, in its order and in the cloud's spelling; the types that they have are
 * claimed, and other addresses of a claimed type are dropped. Without the annotation the list stays as it is.
 */
export function narrowToProvidedNodeIp(node: Node, addresses: readonly NodeAddress[]): NarrowedAddresses {
  const annotation = node.metadata.annotations?.[PROVIDED_NODE_IP_ANNOTATION];
  if (annotation === undefined) return { kind: "addresses", addresses };
  const provided = parseProvided(annotation);
  if (provided === undefined)
    return mismatch(`"${annotation}" is neither one IP address nor a dual-stack pair`);
  const claimed: NodeAddress[] = [];
  for (const ip of provided) {
    const matches = addresses.filter((address) => isAddressOf(address, ip));
    if (matches.length === 0) {
      const known = addresses.map(({ address }) => address).join(", ") || "none";
      return mismatch(`"${annotation}" is not among the instance's addresses (${known})`);
    }
    claimed.push(...matches);
  }
  const types = new Set(claimed.map(({ type }) => type));
  return { kind: "addresses", addresses: [...claimed, ...addresses.filter(({ type }) => !types.has(type))] };
}

function parseProvided(annotation: string): IpAddress[] | undefined {
  const ips = annotation
    .split(",")
    .map(parseIp)
    .filter((ip) => ip !== undefined);
  if (ips.length !== annotation.split(",").length || ips.length > 2) return undefined;
  if (ips.length === 1) return ips;
  const families = new Set(ips.map(({ family }) => family));
  return families.size === 2 && ips.every(({ value }) => value !== 0n) ? ips : undefined;
}

function isAddressOf(address: NodeAddress, ip: IpAddress): boolean {
  const parsed = parseIp(address.address);
  return parsed !== undefined && isSameIp(parsed, ip);
}

function mismatch(words: string): NarrowedAddresses {
  return { kind: "mismatch", message: `annotation ${PROVIDED_NODE_IP_ANNOTATION}: ${words}` };
}
