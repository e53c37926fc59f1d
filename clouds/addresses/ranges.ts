import { type Cidr, endsOf } from "#core/cidr.ts";
import { type Ip, parseIp } from "#core/ip.ts";

/** Addresses of one family from the first to the last, both included. */
export interface AddressRange {
  readonly family: Ip["family"];
  readonly first: bigint;
  readonly last: bigint;
}

/** Addresses that are not to be given again. */
export interface AddressSet {
  has(ip: Ip): boolean;
}

/** How addresses of ranges are looked for. */
export interface Search {
  /** From the end of the last range down; from the beginning of the first one up without it. */
  readonly fromEnd?: boolean;
  /** Addresses that are never given, whoever has them; without it all may be. */
  readonly isGiven?: (ip: Ip) => boolean;
}

/** All addresses of a network. */
export function rangeOf(cidr: Cidr): AddressRange {
  const { first, last } = endsOf(cidr);
  return { family: cidr.family, first: first.value, last: last.value };
}

/** The addresses of a network without its first and its last one; of one that has no others, all of them. */
export function innerRangeOf(cidr: Cidr): AddressRange {
  const range = rangeOf(cidr);
  const { family, first, last } = range;
  return last - first < 2n ? range : { family, first: first + 1n, last: last - 1n };
}

/** Whether an address is one of a range. */
export function isIn({ family, value }: Ip, range: AddressRange): boolean {
  return family === range.family && value >= range.first && value <= range.last;
}

/** Ranges may have addresses in common, and each is walked: nobody looks at more of them than this for one that is free. */
const MAX_STEPS = 200_000;

/**
 * The first address of the ranges that is free. Walked one by one, so it takes as many steps as addresses are in use before it, however
 * large a range is.
 */
export function firstFree(
  ranges: readonly AddressRange[],
  used: AddressSet,
  { fromEnd = false, isGiven = () => true }: Search = {},
): Ip | undefined {
  let left = MAX_STEPS;
  for (const { family, first, last } of fromEnd ? ranges.toReversed() : ranges) {
    const [from, step] = fromEnd ? [last, -1n] : [first, 1n];
    for (let value = from; value >= first && value <= last && left > 0; value += step, left -= 1) {
      const ip: Ip = { family, value };
      if (isGiven(ip) && !used.has(ip)) return ip;
    }
  }
  return undefined;
}

/** The addresses among these texts; what is none is left out. */
export function addressSet(texts: Iterable<string>): AddressSet & { add(ip: Ip): void } {
  const values = { 4: new Set<bigint>(), 6: new Set<bigint>() };
  const add = ({ family, value }: Ip): void => void values[family].add(value);
  for (const text of texts) {
    const ip = parseIp(text);
    if (ip !== undefined) add(ip);
  }
  return { add, has: ({ family, value }) => values[family].has(value) };
}
