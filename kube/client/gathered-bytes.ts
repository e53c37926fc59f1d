/** Bytes that arrive in pieces, kept in as much memory as they have, however small or widely spread the pieces are. */
export interface GatheredBytes {
  readonly length: number;
  add(piece: Uint8Array): void;
  /** All of them, in one; what is added afterwards begins anew. */
  take(): Buffer;
}

const SMALLEST_BLOCK_BYTES = 1_024;
const LARGEST_BLOCK_BYTES = 1024 * 1024;

/**
 * Copies each piece into blocks that grow with what is there. A piece that was kept itself would hold the whole buffer that it was read
 * into, and costs a hundred bytes where it has one.
 */
export function createGatheredBytes(): GatheredBytes {
  let full: Buffer[] = [];
  let block: Buffer = Buffer.alloc(0);
  let used = 0;
  let length = 0;

  /** Never from Node's pool, which would be held as a whole. */
  function nextBlock(atLeast: number): Buffer {
    const size = Math.min(LARGEST_BLOCK_BYTES, Math.max(SMALLEST_BLOCK_BYTES, length));
    return Buffer.allocUnsafeSlow(Math.max(size, atLeast));
  }

  return {
    get length() {
      return length;
    },
    add(piece) {
      const fits = Math.min(piece.length, block.length - used);
      block.set(piece.subarray(0, fits), used);
      used += fits;
      length += piece.length;
      if (fits === piece.length) return;
      if (used > 0) full.push(block);
      const rest = piece.subarray(fits);
      block = nextBlock(rest.length);
      block.set(rest);
      used = rest.length;
    },
    take() {
      const all = [...full, block.subarray(0, used)];
      const whole = all.length === 1 ? block.subarray(0, used) : Buffer.concat(all, length);
      full = [];
      block = Buffer.alloc(0);
      used = 0;
      length = 0;
      return whole;
    },
  };
}
