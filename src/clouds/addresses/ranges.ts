import { type Cidr, getCidrEnds } from "#core/cidr.ts";
import { type Ip, parseIp } from "#core/ip.ts";

/** Addresses of one family from the first to the last, both included. */
export interface AddressRange {
  readonly family: Ip["family"];
  readonly first: bigint;
  readonly last: bigint;
}

/** Addresses that must not be assigned again. */
export interface AddressSet {
  has(ip: Ip): boolean;
}

/** How ranges are searched. */
export interface RangeSearch {
  /**
   * Searches from the end of the last range downwards; by default from the start of the first one upwards.
   */
  readonly fromEnd?: boolean;
  /** Whether an address may be assigned at all; by default all may. */
  readonly isGiven?: (ip: Ip) => boolean;
}

/** Returns all addresses of a network as a range. */
export function buildRange(cidr: Cidr): AddressRange {
  const { first, last } = getCidrEnds(cidr);
  return { family: cidr.family, first: first.value, last: last.value };
}

/** Returns the addresses of a network without its first and last one; all of them if there are no others. */
export function buildInnerRange(cidr: Cidr): AddressRange {
  const range = buildRange(cidr);
  const { family, first, last } = range;
  return last - first < 2n ? range : { family, first: first + 1n, last: last - 1n };
}

/** Whether a range includes an address. */
export function isIn({ family, value }: Ip, range: AddressRange): boolean {
  return family === range.family && value >= range.first && value <= range.last;
}

/** Maximum addresses examined in a search: ranges may overlap, and each is searched. */
const MAX_STEPS = 200_000;

/**
 * Finds the first free address of the ranges. The number of steps is the number of used addresses before it,
 * however large a range is.
 */
export function findFreeAddress(
  ranges: readonly AddressRange[],
  used: AddressSet,
  { fromEnd = false, isGiven = () => true }: RangeSearch = {},
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

/** Builds the set of the valid addresses among these texts; others are skipped. */
export function buildAddressSet(texts: Iterable<string>): AddressSet & { add(ip: Ip): void } {
  const values = { 4: new Set<bigint>(), 6: new Set<bigint>() };
  const add = ({ family, value }: Ip): void => void values[family].add(value);
  for (const text of texts) {
    const ip = parseIp(text);
    if (ip !== undefined) add(ip);
  }
  return { add, has: ({ family, value }) => values[family].has(value) };
}
