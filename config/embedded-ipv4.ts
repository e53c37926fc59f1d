import { isIPv6 } from "node:net";

/** An IPv4 address embedded in an IPv6 address, and whether the latter is only another notation. */
export interface EmbeddedIpv4 {
  readonly address: string;
  readonly isMapped: boolean;
}

/**
 * Returns the IPv4 address that an IPv6 address embeds: mapped (`::ffff:0:0/96`), compatible (`::/96`), NAT64
 * (`64:ff9b::/96` and `64:ff9b:1::/48`) or 6to4 (`2002::/16`). Undefined if it embeds no address.
 */
export function findEmbeddedIpv4(address: string): EmbeddedIpv4 | undefined {
  const groups = parseIpv6Groups(address);
  if (groups === undefined) return undefined;
  const [first = 0, second = 0, third = 0, fourth = 0, fifth = 0, sixth = 0, seventh = 0, last = 0] = groups;
  const startsWithZeros = first + second + third + fourth + fifth === 0;
  const atTheEnd = formatIpv4(seventh, last);
  if (startsWithZeros && sixth === 0xffff) return { address: atTheEnd, isMapped: true };
  // `::` is the unspecified address and `::1` is loopback.
  if (startsWithZeros && sixth === 0 && (seventh > 0 || last > 1))
    return { address: atTheEnd, isMapped: false };
  if (first === 0x64 && second === 0xff9b) return { address: atTheEnd, isMapped: false };
  if (first === 0x2002) return { address: formatIpv4(second, third), isMapped: false };
  return undefined;
}

/** Parses the eight groups of an IPv6 address without a zone; undefined for other texts. */
export function parseIpv6Groups(address: string): readonly number[] | undefined {
  if (!isIPv6(address) || address.includes("%")) return undefined;
  const hexadecimal = address.replace(
    /(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/,
    (_, ...bytes: string[]) => {
      const [a = 0, b = 0, c = 0, d = 0] = bytes.slice(0, 4).map(Number);
      return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
    },
  );
  const [head = "", tail] = hexadecimal.split("::");
  const [before, after] = [head, tail ?? ""].map((part) => (part === "" ? [] : part.split(":")));
  const zeros = tail === undefined ? 0 : 8 - (before?.length ?? 0) - (after?.length ?? 0);
  const groups = [...(before ?? []), ...Array.from({ length: zeros }, () => "0"), ...(after ?? [])];
  return groups.map((group) => Number.parseInt(group, 16));
}

function formatIpv4(high: number, low: number): string {
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}
