/**
 * A buffer for bytes that arrive in chunks. Its memory follows the number of bytes, however small or sparse
 * the chunks are.
 */
export interface ByteBuffer {
  readonly length: number;
  add(piece: Uint8Array): void;
  /** Returns all bytes and empties the buffer. */
  take(): Buffer;
}

const SMALLEST_BLOCK_BYTES = 1_024;
const LARGEST_BLOCK_BYTES = 1024 * 1024;

/**
 * Copies each chunk into growing blocks. Keeping a chunk itself would retain the whole buffer that it was
 * read into, and cost a hundred bytes for one byte.
 */
export function createGatheredBytes(): ByteBuffer {
  let full: Buffer[] = [];
  let block: Buffer = Buffer.alloc(0);
  let used = 0;
  let length = 0;

  /** Not from Node's pool, which would be retained as a whole. */
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
