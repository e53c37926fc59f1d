import { createGatheredBytes } from "#kube/client/byte-buffer.ts";
import { hasMoreValues, MAX_OBJECT_VALUES } from "#kube/client/json-values.ts";
import type { LimitName } from "#kube/client/limit-name.ts";
import { DEFAULT_BOUNDS } from "#kube/follow/bounds.ts";

/** A line of the stream exceeds the size limit. */
export class LineTooLarge extends Error {
  override readonly name = "LineTooLarge";
  readonly limit: LimitName;

  constructor(limit: LimitName, message: string) {
    super(message);
    this.limit = limit;
  }
}

/**
 * Creates a splitter of bytes into lines. It takes the next chunk and yields the complete lines lazily;
 * consume all before the next chunk. Characters may be split between chunks. Throws `LineTooLarge`; after
 * that the splitter must not be used again.
 */
export function createLineSplitter(
  maxBytes = DEFAULT_BOUNDS.watchLineBytes,
): (piece: Uint8Array) => Generator<string, void> {
  const rest = createGatheredBytes();

  return function* lines(piece) {
    let start = 0;
    for (let end = piece.indexOf(NEWLINE); end !== -1; end = piece.indexOf(NEWLINE, start)) {
      yield textOf(piece.subarray(start, end));
      start = end + 1;
    }
    keep(piece.subarray(start));
  };

  function textOf(end: Uint8Array): string {
    if (rest.length > 0) {
      keep(end);
      return decodeLine(rest.take());
    }
    bounded(end.length);
    return decodeLine(Buffer.from(end.buffer, end.byteOffset, end.byteLength));
  }

  function keep(piece: Uint8Array): void {
    bounded(rest.length + piece.length);
    if (piece.length > 0) rest.add(piece);
  }

  function bounded(bytes: number): void {
    if (bytes > maxBytes)
      throw new LineTooLarge("watchLineBytes", `a line of the watch is longer than ${maxBytes} bytes`);
  }
}

function decodeLine(line: Buffer): string {
  if (hasMoreValues(line, MAX_OBJECT_VALUES))
    throw new LineTooLarge(
      "watchLineValues",
      `a line of the watch has more than ${MAX_OBJECT_VALUES} JSON values`,
    );
  return line.toString("utf8");
}

const NEWLINE = 0x0a;
