/** An IP address as a number; an IPv4-mapped IPv6 address (`::ffff:10.0.0.1`) is the IPv4 address. */
export interface Ip {
  readonly family: 4 | 6;
  readonly value: bigint;
}

/**
 * Parses an IP address as Kubernetes does: leading zeros in IPv4 are decimal, and any spelling of IPv6 is
 * valid. White space, zones and prefix lengths are invalid. Undefined for any other text.
 */
export function parseIp(text: string): Ip | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  if (!text.includes(":")) return parseIPv4(text);
  return parseIPv6(text);
}

/** Returns whether two addresses have equal numbers and families. */
export function isSameIp(a: Ip, b: Ip): boolean {
  return a.family === b.family && a.value === b.value;
}

/** Returns whether an address is `0.0.0.0` or `::`, which no node can have. */
export function isUnspecified(ip: Ip): boolean {
  return ip.value === 0n;
}

/** Longer texts are not parsed; this is far more than any sensible spelling, leading zeros included. */
const MAX_LENGTH = 100;
const MAPPED_PREFIX = 0xffffn;

function parseIPv4(text: string): Ip | undefined {
  const octets = text.split(".");
  if (octets.length !== 4 || !octets.every(isOctet)) return undefined;
  return { family: 4, value: joinGroups(octets.map(Number), 8n) };
}

function isOctet(text: string): boolean {
  return /^\d+$/.test(text) && Number(text) <= 255;
}

function parseIPv6(text: string): Ip | undefined {
  const groups = parseGroups(expandDottedTail(text));
  if (groups === undefined) return undefined;
  const value = joinGroups(groups, 16n);
  if (value >> 32n === MAPPED_PREFIX) return { family: 4, value: value & 0xffff_ffffn };
  return { family: 6, value };
}

/** Writes a dotted IPv4 tail as two groups. */
function expandDottedTail(text: string): string {
  const start = text.lastIndexOf(":") + 1;
  const tail = parseIPv4(text.slice(start));
  if (tail === undefined) return text;
  return `${text.slice(0, start)}${(tail.value >> 16n).toString(16)}:${(tail.value & 0xffffn).toString(16)}`;
}

/** Returns the eight groups, with `::` expanded to at least one group. */
function parseGroups(text: string): number[] | undefined {
  const [head, tail, ...more] = text.split("::");
  if (head === undefined || more.length > 0) return undefined;
  const before = splitGroups(head);
  const after = tail === undefined ? [] : splitGroups(tail);
  const missing = 8 - before.length - after.length;
  if (tail === undefined ? missing !== 0 : missing < 1) return undefined;
  const groups = [...before, ...Array<string>(missing).fill("0"), ...after];
  return groups.every(isGroup) ? groups.map((group) => Number.parseInt(group, 16)) : undefined;
}

function splitGroups(text: string): string[] {
  return text === "" ? [] : text.split(":");
}

function isGroup(text: string): boolean {
  return /^[\da-f]{1,4}$/i.test(text);
}

function joinGroups(parts: readonly number[], bits: bigint): bigint {
  return parts.reduce((value, part) => (value << bits) | BigInt(part), 0n);
}
