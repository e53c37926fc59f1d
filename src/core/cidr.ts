import { type Ip, parseIp } from "#core/ip.ts";

/** A network: its first address, and the length of its prefix in bits. */
export interface Cidr {
  readonly family: Ip["family"];
  readonly first: bigint;
  readonly length: number;
}

/**
 * Parses a network in CIDR notation, in any spelling of its address; host bits count as zeros, as on clouds.
 * Undefined for any other text, IPv4-mapped IPv6 networks included.
 */
export function parseCidr(text: string): Cidr | undefined {
  const [address = "", bits = "", ...more] = text.split("/");
  const ip = parseIp(address);
  if (ip === undefined || more.length > 0 || !LENGTH.test(bits)) return undefined;
  if (ip.family === 4 && address.includes(":")) return undefined;
  const length = Number(bits);
  const width = getAddressBits(ip);
  if (length > width) return undefined;
  const free = BigInt(width - length);
  return { family: ip.family, first: (ip.value >> free) << free, length };
}

/** Returns the canonical spelling of a network: for IPv6 that of RFC 5952. */
export function formatCidr({ family, first, length }: Cidr): string {
  return `${formatIp({ family, value: first })}/${length}`;
}

/** Returns the canonical spelling of an address: for IPv6 that of RFC 5952. */
export function formatIp({ family, value }: Ip): string {
  return family === 4 ? formatIPv4(value) : formatIPv6(value);
}

/** Returns the canonical spelling of an address given as text; undefined if it is invalid. */
export function canonicalizeIp(text: string): string | undefined {
  const ip = parseIp(text);
  return ip === undefined ? undefined : formatIp(ip);
}

/** Returns the first and the last address of a network. */
export function getCidrEnds({ family, first, length }: Cidr): { readonly first: Ip; readonly last: Ip } {
  const more = (1n << BigInt(getAddressBits({ family }) - length)) - 1n;
  return { first: { family, value: first }, last: { family, value: first + more } };
}

/** Returns the canonical spelling of a network given as text; undefined if it is invalid. */
export function canonicalizeCidr(text: string): string | undefined {
  const cidr = parseCidr(text);
  return cidr === undefined ? undefined : formatCidr(cidr);
}

/** Returns whether all addresses of `inner` are also in `outer`. */
export function isWithin(inner: Cidr, outer: Cidr): boolean {
  if (inner.family !== outer.family || inner.length < outer.length) return false;
  const free = BigInt(getAddressBits(outer) - outer.length);
  return inner.first >> free === outer.first >> free;
}

/** Returns whether two networks share addresses; then one of them contains the other. */
export function hasOverlap(one: Cidr, other: Cidr): boolean {
  return isWithin(one, other) || isWithin(other, one);
}

/** Returns whether a valid network or address is IPv6. */
export function isIPv6Network(text: string): boolean {
  return text.includes(":");
}

const LENGTH = /^\d{1,3}$/;

function getAddressBits({ family }: Pick<Ip, "family">): 32 | 128 {
  return family === 4 ? 32 : 128;
}

function formatIPv4(value: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => String((value >> shift) & 0xffn)).join(".");
}

function formatIPv6(value: bigint): string {
  const groups = Array.from({ length: 8 }, (_, index) =>
    ((value >> BigInt(112 - 16 * index)) & 0xffffn).toString(16),
  );
  const { start, length } = findLongestZeros(groups);
  if (length < 2) return groups.join(":");
  return `${groups.slice(0, start).join(":")}::${groups.slice(start + length).join(":")}`;
}

/** The first of the longest runs of zero groups. */
function findLongestZeros(groups: readonly string[]): { readonly start: number; readonly length: number } {
  let longest = { start: 0, length: 0 };
  let start = 0;
  for (const [index, group] of groups.entries()) {
    if (group !== "0") start = index + 1;
    else if (index + 1 - start > longest.length) longest = { start, length: index + 1 - start };
  }
  return longest;
}
