import { type Ip, parseIp } from "#core/ip.ts";

/** A network: its first address, and how many bits all of its addresses have in common. */
export interface Cidr {
  readonly family: Ip["family"];
  readonly first: bigint;
  readonly length: number;
}

/**
 * Reads a network in CIDR notation, in any spelling of its address; bits beyond its length count as zeros, as they do for clouds.
 * Undefined for whatever else, IPv4 networks in the words of IPv6 included.
 */
export function parseCidr(text: string): Cidr | undefined {
  const [address = "", bits = "", ...more] = text.split("/");
  const ip = parseIp(address);
  if (ip === undefined || more.length > 0 || !LENGTH.test(bits)) return undefined;
  if (ip.family === 4 && address.includes(":")) return undefined;
  const length = Number(bits);
  const width = widthOf(ip);
  if (length > width) return undefined;
  const free = BigInt(width - length);
  return { family: ip.family, first: (ip.value >> free) << free, length };
}

/** The one spelling of a network that all of its spellings have: that of RFC 5952 where it is IPv6. */
export function formatCidr({ family, first, length }: Cidr): string {
  return `${formatIp({ family, value: first })}/${length}`;
}

/** The one spelling of an address that all of its spellings have: that of RFC 5952 where it is IPv6. */
export function formatIp({ family, value }: Ip): string {
  return family === 4 ? formatIPv4(value) : formatIPv6(value);
}

/** The same for text; undefined where it is no address. */
export function canonicalIp(text: string): string | undefined {
  const ip = parseIp(text);
  return ip === undefined ? undefined : formatIp(ip);
}

/** The first and the last address of a network. */
export function endsOf({ family, first, length }: Cidr): { readonly first: Ip; readonly last: Ip } {
  const more = (1n << BigInt(widthOf({ family }) - length)) - 1n;
  return { first: { family, value: first }, last: { family, value: first + more } };
}

/** The same for text; undefined where it is no network. */
export function canonicalCidr(text: string): string | undefined {
  const cidr = parseCidr(text);
  return cidr === undefined ? undefined : formatCidr(cidr);
}

/** Whether all addresses of the one are addresses of the other, too. */
export function isWithin(inner: Cidr, outer: Cidr): boolean {
  if (inner.family !== outer.family || inner.length < outer.length) return false;
  const free = BigInt(widthOf(outer) - outer.length);
  return inner.first >> free === outer.first >> free;
}

/** Whether two networks have addresses in common: then one of them is within the other. */
export function overlaps(one: Cidr, other: Cidr): boolean {
  return isWithin(one, other) || isWithin(other, one);
}

/** Whether text that is known to be a network or an address is one of IPv6. */
export function isIPv6Network(text: string): boolean {
  return text.includes(":");
}

const LENGTH = /^\d{1,3}$/;

function widthOf({ family }: Pick<Ip, "family">): 32 | 128 {
  return family === 4 ? 32 : 128;
}

function formatIPv4(value: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => String((value >> shift) & 0xffn)).join(".");
}

function formatIPv6(value: bigint): string {
  const groups = Array.from({ length: 8 }, (_, index) =>
    ((value >> BigInt(112 - 16 * index)) & 0xffffn).toString(16),
  );
  const { start, length } = longestZeros(groups);
  if (length < 2) return groups.join(":");
  return `${groups.slice(0, start).join(":")}::${groups.slice(start + length).join(":")}`;
}

/** The first of the longest runs of groups that are zero. */
function longestZeros(groups: readonly string[]): { readonly start: number; readonly length: number } {
  let longest = { start: 0, length: 0 };
  let start = 0;
  for (const [index, group] of groups.entries()) {
    if (group !== "0") start = index + 1;
    else if (index + 1 - start > longest.length) longest = { start, length: index + 1 - start };
  }
  return longest;
}
