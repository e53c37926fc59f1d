/** JSON values of one object; one of the largest that etcd takes has not half as many. */
export const MAX_OBJECT_VALUES = 100_000;

/**
 * Whether a JSON text has more than `max` values, told by the signs that open or part them, before it is parsed: a few characters each,
 * they take many times their bytes then. Signs within strings count too. Half a millisecond for a megabyte.
 */
export function hasMoreValues(bytes: Uint8Array, max: number): boolean {
  // No text has more signs than bytes, and most are short.
  if (bytes.length <= max) return false;
  signsOfPair ??= countedPairs();
  // Two bytes at a time begin at an even address.
  const odd = bytes.byteOffset % 2;
  const pairs = new Uint16Array(bytes.buffer, bytes.byteOffset + odd, (bytes.length - odd) >> 1);
  let signs = odd + 1;
  for (let start = 0; start < pairs.length; ) {
    const end = Math.min(pairs.length, start + PAIRS_AT_A_TIME);
    for (; start < end; start += 1) signs += signsOfPair[pairs[start] as number] as number;
    if (signs > max) return true;
  }
  return false;
}

const PAIRS_AT_A_TIME = 32_768;

/** Made when it is first needed, which most functions never do. */
let signsOfPair: Uint8Array | undefined;

function countedPairs(): Uint8Array {
  const isSign = (byte: number): number => Number(byte === 0x2c || byte === 0x5b || byte === 0x7b);
  return Uint8Array.from({ length: 65_536 }, (_, pair) => isSign(pair & 0xff) + isSign(pair >> 8));
}
