import type { Readable } from "node:stream";

/** Bytes a piece, below which a body is not read on: one event of a watch has more, and a piece costs as much as hundreds of bytes do. */
const SMALLEST_MEAN_BYTES = 64;
const PIECES_AT_A_TIME = 1_000;

/** Tells whether a body arrives in pieces that are absurdly small: a thousand of them in a row with 64 bytes at the mean at most. */
export function createSmallPieces(): (bytes: number) => boolean {
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
 * Calls `listener` once where the body of a stream arrives in such pieces, whether it is read at that moment or not: Node hands every
 * piece to `push`, and where nobody reads keeps each by itself, as far as the window of the stream allows.
 */
export function onSmallPieces(stream: Readable, listener: () => void): void {
  const areSmall = createSmallPieces();
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
