import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { getSystemCode } from "#kube/client/errors.ts";

export interface ReadSmallFileOptions {
  /** Also reads pipes, such as `<(command)` of a shell; for one-time reads. */
  readonly pipes?: boolean;
}

/** Milliseconds to wait for the end of a pipe. */
const PIPE_TIMEOUT_MS = 5_000;
const PIPE_POLL_MS = 10;

/**
 * Reads the text of a file of at most `maxBytes`. Rejects with the system's error or with one of these codes:
 * `EFBIG` for a larger file; `NotRegular` for a device, an unexpected pipe or another endless file;
 * `ETIMEDOUT` for an expected pipe without data or without an end.
 */
export async function readSmallFile(
  file: string,
  maxBytes: number,
  options: ReadSmallFileOptions = {},
): Promise<string> {
  // Without O_NONBLOCK, opening a pipe without a writer blocks forever.
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const kind = await handle.stat();
    if (kind.isFile()) return await readUntilEnd(handle, maxBytes, readChunk);
    if (kind.isFIFO() && options.pipes === true) return await readUntilEnd(handle, maxBytes, readPipe());
    throw createCodedError(kind.isDirectory() ? "EISDIR" : "NotRegular", "is not a regular file");
  } finally {
    await handle.close();
  }
}

/** Describes why a file could not be read; follows the file's name. */
export function describeFileError(error: unknown): string {
  const code = getSystemCode(error) ?? "unknown error";
  if (code === "NotRegular")
    return "is not a regular file: devices and pipes are not read, as they may have no end";
  if (code === "ETIMEDOUT") return `is a pipe that did not come to its end in ${PIPE_TIMEOUT_MS / 1000} s`;
  return `cannot be read (${code})`;
}

/** Reads the next chunk into the buffer and returns its bytes; 0 at the end. */
type ReadChunk = (handle: FileHandle, buffer: Buffer) => Promise<number>;

async function readUntilEnd(handle: FileHandle, maxBytes: number, read: ReadChunk): Promise<string> {
  const pieces: Buffer[] = [];
  for (let bytes = 0; ; ) {
    const buffer = Buffer.allocUnsafe(Math.min(64 * 1024, maxBytes + 1 - bytes));
    const got = await read(handle, buffer);
    if (got === 0) return Buffer.concat(pieces).toString("utf8");
    bytes += got;
    if (bytes > maxBytes) throw createCodedError("EFBIG", `larger than ${maxBytes} bytes`);
    pieces.push(buffer.subarray(0, got));
  }
}

async function readChunk(handle: FileHandle, buffer: Buffer): Promise<number> {
  return (await handle.read(buffer, 0, buffer.length, null)).bytesRead;
}

/** Reads a pipe. Until the first write, a read returns 0 bytes, which is not the end of the pipe. */
function readPipe(): ReadChunk {
  const deadline = performance.now() + PIPE_TIMEOUT_MS;
  let hasBegun = false;
  return async (handle, buffer) => {
    while (performance.now() < deadline) {
      const got = await readChunk(handle, buffer).catch((error: unknown) => {
        if (getSystemCode(error) === "EAGAIN") return undefined;
        throw error;
      });
      if (got !== undefined && (got > 0 || hasBegun)) {
        hasBegun = true;
        return got;
      }
      await delay(PIPE_POLL_MS);
    }
    throw createCodedError("ETIMEDOUT", "time-out");
  };
}

function createCodedError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}
