/** An IP address as a number. An IPv4-mapped IPv6 address is the IPv4 address, as it is for Kubernetes. */
export interface IpAddress {
  readonly family: "ipv4" | "ipv6";
  readonly value: bigint;
}

/** Parses an address; leading zeros in IPv4 are decimal, and whitespace, a prefix length or a zone make it none. */
export function parseIp(text: string): IpAddress | undefined {
  return text.includes(":") ? parseIpv6(text) : parseIpv4(text);
}

/** Whether both are the same address, however they are spelled. */
export function isSameIp(a: IpAddress, b: IpAddress): boolean {
  return a.family === b.family && a.value === b.value;
}

function parseIpv4(text: string): IpAddress | undefined {
  const parts = text.split(".");
  if (parts.length !== 4 || !parts.every((part) => /^\d+$/.test(part) && Number(part) <= 255))
    return undefined;
  return { family: "ipv4", value: parts.reduce((value, part) => value * 256n + BigInt(Number(part)), 0n) };
}

const MAPPED_PREFIX = 0xffffn << 32n;

function parseIpv6(text: string): IpAddress | undefined {
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  const [head, tail] = [groupsOf(halves[0] ?? ""), groupsOf(halves[1] ?? "")];
  if (head === undefined || tail === undefined) return undefined;
  const missing = 8 - head.length - tail.length;
  if (halves.length === 1 ? missing !== 0 : missing < 1) return undefined;
  const groups = [...head, ...Array.from({ length: missing }, () => 0), ...tail];
  const value = groups.reduce((sum, group) => sum * 65_536n + BigInt(group), 0n);
  if (value >> 32n === 0xffffn) return { family: "ipv4", value: value - MAPPED_PREFIX };
  return { family: "ipv6", value };
}

/** The 16-bit groups of one side of "::"; an IPv4 address may stand for the last two. */
function groupsOf(text: string): number[] | undefined {
  if (text === "") return [];
  const groups: number[] = [];
  const parts = text.split(":");
  for (const [index, part] of parts.entries()) {
    const embedded = index === parts.length - 1 && part.includes(".") ? parseIpv4(part) : undefined;
    if (embedded !== undefined) groups.push(Number(embedded.value >> 16n), Number(embedded.value & 0xffffn));
    else if (/^[0-9a-f]{1,4}$/i.test(part)) groups.push(Number.parseInt(part, 16));
    else return undefined;
  }
  return groups;
}
