import { type Ip, parseIp } from "#core/ip.ts";

/**
 * A network in the form in which AWS writes it: `10.0.0.0/8` or `fd00::/56`, without the bits of hosts. Undefined for what is no
 * network in CIDR notation, such as an address without a length.
 */
export function canonicalNetwork(text: string): string | undefined {
  const [address = "", length = "", ...more] = text.split("/");
  const ip = parseIp(address);
  if (ip === undefined || more.length > 0 || !/^\d{1,3}$/.test(length)) return undefined;
  // What is IPv4 mapped into IPv6 has a length of the one and an address of the other.
  if (ip.family === 4 && address.includes(":")) return undefined;
  const bits = ip.family === 4 ? 32 : 128;
  if (Number(length) > bits) return undefined;
  const hosts = BigInt(bits - Number(length));
  return `${addressOf({ ...ip, value: (ip.value >> hosts) << hosts })}/${Number(length)}`;
}

/** Whether a network in canonical form is one of IPv6. */
export function isIPv6Network(network: string): boolean {
  return network.includes(":");
}

function addressOf({ family, value }: Ip): string {
  if (family === 4) return groups(value, 4, 8n).join(".");
  const hex = groups(value, 8, 16n).map((group) => group.toString(16));
  const zeros = longestZeros(hex);
  if (zeros === undefined) return hex.join(":");
  return `${hex.slice(0, zeros.from).join(":")}::${hex.slice(zeros.to).join(":")}`;
}

function groups(value: bigint, count: number, bits: bigint): number[] {
  return Array.from({ length: count }, (_, index) =>
    Number((value >> (BigInt(count - 1 - index) * bits)) & ((1n << bits) - 1n)),
  );
}

/** The first of the longest runs of two zeros or more, which is what `::` stands for (RFC 5952). */
function longestZeros(hex: readonly string[]): { readonly from: number; readonly to: number } | undefined {
  let longest: { readonly from: number; readonly to: number } | undefined;
  for (let from = 0; from < hex.length; from += 1) {
    let to = from;
    while (hex[to] === "0") to += 1;
    if (to - from >= 2 && (longest === undefined || to - from > longest.to - longest.from))
      longest = { from, to };
  }
  return longest;
}
