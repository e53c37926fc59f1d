import type { ServerHttp2Stream } from "node:http2";

/** Sends the output of `next` as fast as the other side takes it; undefined ends the answer. */
export async function pour(stream: ServerHttp2Stream, next: () => Buffer | undefined): Promise<void> {
  while (isOpen(stream)) {
    const piece = next();
    if (piece === undefined) return void stream.end();
    if (!stream.write(piece)) await drained(stream);
    // Other connections get their turn.
    else await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Sends a prepared body in pieces, so that the waiting bytes are bounded. */
export function pourBody(stream: ServerHttp2Stream, body: Buffer): Promise<void> {
  let at = 0;
  return pour(stream, () => {
    if (at >= body.length) return undefined;
    const piece = body.subarray(at, at + PIECE_BYTES);
    at += PIECE_BYTES;
    return piece;
  });
}

const PIECE_BYTES = 256 * 1024;

function isOpen(stream: ServerHttp2Stream): boolean {
  return !stream.destroyed && !stream.closed && stream.writable;
}

function drained(stream: ServerHttp2Stream): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      stream.off("drain", done);
      stream.off("close", done);
      resolve();
    };
    stream.on("drain", done);
    stream.on("close", done);
  });
}
