/** The longest line of a watch that is read, in bytes; an object in etcd has 1.5 MB at most. */
export const MAX_LINE_BYTES = 8 * 1024 * 1024;

/** A line of the stream is longer than it can rightly be. */
export class LineTooLong extends Error {
  override readonly name = "LineTooLong";
  readonly maxBytes: number;

  constructor(maxBytes: number) {
    super(`a line of the watch is longer than ${maxBytes} bytes`);
    this.maxBytes = maxBytes;
  }
}

/**
 * Cuts a stream of bytes into lines: takes the next piece and answers with the lines that are complete now, without
 * empty ones. Characters may be split between pieces. Throws `LineTooLong`, after which it is not to be used again.
 */
export function createLineSplitter(maxBytes = MAX_LINE_BYTES): (piece: Uint8Array) => string[] {
  let rest: Uint8Array[] = [];
  let restBytes = 0;

  return (piece) => {
    const lines: string[] = [];
    let start = 0;
    for (let end = piece.indexOf(NEWLINE); end !== -1; end = piece.indexOf(NEWLINE, start)) {
      const line = textOf(piece.subarray(start, end));
      if (line !== "") lines.push(line);
      start = end + 1;
    }
    keep(piece.subarray(start));
    return lines;
  };

  function textOf(end: Uint8Array): string {
    if (restBytes + end.length > maxBytes) throw new LineTooLong(maxBytes);
    const line = restBytes === 0 ? end : Buffer.concat([...rest, end]);
    rest = [];
    restBytes = 0;
    return Buffer.from(line.buffer, line.byteOffset, line.byteLength).toString("utf8");
  }

  function keep(piece: Uint8Array): void {
    if (piece.length === 0) return;
    restBytes += piece.length;
    if (restBytes > maxBytes) throw new LineTooLong(maxBytes);
    rest.push(piece);
  }
}

const NEWLINE = 0x0a;
