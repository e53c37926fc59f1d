import type { Readable } from "node:stream";
import type { Transport } from "#kube/client/transport.ts";

/**
 * A buffer for bytes that arrive in chunks. Its memory follows the number of bytes, however small or sparse
 * the chunks are.
 */
export interface ByteBuffer {
  readonly length: number;
  add(piece: Uint8Array): void;
  /** Returns all bytes and empties the buffer. */
  take(): Buffer;
  /** Returns all bytes as they are held, without a copy, and empties the buffer. */
  takeChunks(): Buffer<ArrayBuffer>[];
}

const SMALLEST_BLOCK_BYTES = 1_024;

const LARGEST_BLOCK_BYTES = 1024 * 1024;

/**
 * Copies each chunk into growing blocks. Keeping a chunk itself would retain the whole buffer that it was
 * read into, and cost a hundred bytes for one byte.
 */
export function createGatheredBytes(): ByteBuffer {
  let full: Buffer<ArrayBuffer>[] = [];
  let block: Buffer<ArrayBuffer> = Buffer.alloc(0);
  let used = 0;
  let length = 0;

  /** Not from Node's pool, which would be retained as a whole. */
  function nextBlock(atLeast: number): Buffer<ArrayBuffer> {
    const size = Math.min(LARGEST_BLOCK_BYTES, Math.max(SMALLEST_BLOCK_BYTES, length));
    return Buffer.allocUnsafeSlow(Math.max(size, atLeast));
  }

  function takeChunks(): Buffer<ArrayBuffer>[] {
    const all = [...full, block.subarray(0, used)];
    full = [];
    block = Buffer.alloc(0);
    used = 0;
    length = 0;
    return all;
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
      const bytes = length;
      const chunks = takeChunks();
      return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, bytes);
    },
    takeChunks,
  };
}

/**
 * Frees the memory of chunks at once instead of at some later collection of garbage. Nothing may read them, or other
 * parts of their buffers, any more.
 */
export function freeChunks(chunks: readonly Uint8Array<ArrayBuffer>[]): void {
  for (const { buffer } of chunks) if (!buffer.detached) buffer.transfer(0);
}

/**
 * Mean bytes per chunk below which a body is abandoned: one watch event has more, and a chunk costs as much
 * as hundreds of bytes.
 */
const SMALLEST_MEAN_BYTES = 64;

const PIECES_AT_A_TIME = 1_000;

/**
 * Creates a check for bodies that arrive in absurdly small chunks: a thousand in a row with a mean of at most
 * 64 bytes.
 */
export function createSmallChunkCounter(): (bytes: number) => boolean {
  let pieces = 0;
  let sum = 0;
  return (bytes) => {
    pieces += 1;
    sum += bytes;
    if (pieces < PIECES_AT_A_TIME) return false;
    const areSmall = sum <= pieces * SMALLEST_MEAN_BYTES;
    pieces = 0;
    sum = 0;
    return areSmall;
  };
}

/**
 * Calls `listener` once if a stream's body arrives in such chunks, even while it is not read. Node passes
 * every chunk to `push`, and keeps unread ones separately up to the stream's window.
 */
export function watchSmallChunks(stream: Readable, listener: () => void): void {
  const areSmall = createSmallChunkCounter();
  const push = stream.push;
  stream.push = (piece, encoding) => {
    if (piece instanceof Uint8Array && areSmall(piece.length)) {
      stream.push = push;
      listener();
      return false;
    }
    return push.call(stream, piece, encoding);
  };
}

/** For one small object, from any server. */
const BOUNDS = { maxBytes: 64 * 1024, maxValues: 10_000, timeoutMs: 10_000 };

/** Wraps a transport for requests with small answers: `send` rejects larger ones and has a short timeout. */
export function withSmallAnswers(transport: Transport): Transport {
  return {
    send: (request) => transport.send({ ...request, ...BOUNDS }),
    stream: (request) => transport.stream(request),
    close: () => transport.close(),
  };
}
