import { type Cidr, isWithin, parseCidr } from "#core/cidr.ts";
import { parseIp } from "#core/ip.ts";
import type { NodeAddress } from "#core/node/node.ts";

/** Whether a text is networks and addresses by commas. */
export function isSortOrder(text: string): boolean {
  return text.split(",").every((part) => networkOf(part.trim()) !== undefined);
}

/** Addresses of the first network first, and so on, and those of none of them last, in the order that they have. */
export function sorted(addresses: readonly NodeAddress[], order: string): readonly NodeAddress[] {
  const networks = order.split(",").flatMap((part) => networkOf(part.trim()) ?? []);
  const rank = ({ address }: NodeAddress): number => {
    const own = networkOf(address);
    const index = own === undefined ? -1 : networks.findIndex((network) => isWithin(own, network));
    return index === -1 ? networks.length : index;
  };
  return addresses.toSorted((a, b) => rank(a) - rank(b));
}

/** An address is the network that it is alone in. */
function networkOf(text: string): Cidr | undefined {
  const ip = parseIp(text);
  return ip === undefined
    ? parseCidr(text)
    : { family: ip.family, first: ip.value, length: ip.family === 4 ? 32 : 128 };
}
