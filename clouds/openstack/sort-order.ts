import { type Cidr, isWithin, parseCidr } from "#core/cidr.ts";
import { parseIp } from "#core/ip.ts";
import type { NodeAddress } from "#core/node/node.ts";

/** Whether a text is a comma-separated list of networks and addresses. */
export function isSortOrder(text: string): boolean {
  return text.split(",").every((part) => parseNetwork(part.trim()) !== undefined);
}

/**
 * Sorts addresses by the order of networks; addresses outside of all networks come last, in their given
 * order.
 */
export function sortAddresses(addresses: readonly NodeAddress[], order: string): readonly NodeAddress[] {
  const networks = order.split(",").flatMap((part) => parseNetwork(part.trim()) ?? []);
  const rank = ({ address }: NodeAddress): number => {
    const host = parseNetwork(address);
    const index = host === undefined ? -1 : networks.findIndex((network) => isWithin(host, network));
    return index === -1 ? networks.length : index;
  };
  return addresses.toSorted((a, b) => rank(a) - rank(b));
}

/** An address counts as a network that contains only it. */
function parseNetwork(text: string): Cidr | undefined {
  const ip = parseIp(text);
  return ip === undefined
    ? parseCidr(text)
    : { family: ip.family, first: ip.value, length: ip.family === 4 ? 32 : 128 };
}
