/** JSON values of one object; the largest that etcd accepts has less than half as many. */
export const MAX_OBJECT_VALUES = 100_000;

/**
 * Whether a JSON text has more than `max` values. It counts opening and separating characters before parsing,
 * because values of a few characters take many times their bytes once parsed. Characters within strings
 * count, too. Half a millisecond for a megabyte.
 */
export function hasMoreValues(bytes: Uint8Array, max: number): boolean {
  return haveMoreValues([bytes], max);
}

/** Like `hasMoreValues`, of a text in chunks. */
export function haveMoreValues(chunks: readonly Uint8Array[], max: number): boolean {
  // A text has at most as many such characters as bytes, and most texts are short.
  if (chunks.reduce((sum, { length }) => sum + length, 0) <= max) return false;
  let values = 1;
  for (const chunk of chunks) {
    values += countSigns(chunk, max - values);
    if (values > max) return true;
  }
  return false;
}

/** Counts such characters; it may stop after `max`. */
function countSigns(bytes: Uint8Array, max: number): number {
  signsByPair ??= countPairs();
  // A 16-bit view must begin at an even address.
  const odd = bytes.byteOffset % 2;
  const pairs = new Uint16Array(bytes.buffer, bytes.byteOffset + odd, Math.max(0, bytes.length - odd) >> 1);
  let signs = 0;
  // The bytes before and after the pairs; as pairs with a zero byte they are in the table, too.
  for (const byte of [...bytes.subarray(0, odd), ...bytes.subarray(odd + 2 * pairs.length)])
    signs += signsByPair[byte] as number;
  for (let start = 0; start < pairs.length && signs <= max; ) {
    const end = Math.min(pairs.length, start + PAIRS_AT_A_TIME);
    for (; start < end; start += 1) signs += signsByPair[pairs[start] as number] as number;
  }
  return signs;
}

const PAIRS_AT_A_TIME = 32_768;

/** Created on first use, which most functions never need. */
let signsByPair: Uint8Array | undefined;

function countPairs(): Uint8Array {
  const isSign = (byte: number): number => Number(byte === 0x2c || byte === 0x5b || byte === 0x7b);
  return Uint8Array.from({ length: 65_536 }, (_, pair) => isSign(pair & 0xff) + isSign(pair >> 8));
}
