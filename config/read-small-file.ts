import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { systemCode } from "#kube/client/errors.ts";

export interface ReadSmallFileOptions {
  /** Also reads what a pipe brings, such as `<(command)` of a shell; for what is read once. */
  readonly pipes?: boolean;
}

/** A pipe that has not brought everything by then is not waited for. */
const PIPE_TIMEOUT_MS = 5_000;
const PIPE_LOOK_MS = 10;

/**
 * A file's text, of at most `maxBytes`. Rejects with the system's error, or with code `EFBIG` where it is larger, `NotRegular` where it
 * is a device, a pipe or the like, which may have no end, and `ETIMEDOUT` where a pipe is asked for and brings nothing or no end.
 */
export async function readSmallFile(
  file: string,
  maxBytes: number,
  options: ReadSmallFileOptions = {},
): Promise<string> {
  // Without O_NONBLOCK a pipe to which nobody writes would keep whoever opens it for ever.
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const kind = await handle.stat();
    if (kind.isFile()) return await readUntilEnd(handle, maxBytes, readPiece);
    if (kind.isFIFO() && options.pipes === true) return await readUntilEnd(handle, maxBytes, patiently());
    throw coded(kind.isDirectory() ? "EISDIR" : "NotRegular", "is no regular file");
  } finally {
    await handle.close();
  }
}

/** What is wrong with a file that could not be read, after its name. */
export function fileTrouble(error: unknown): string {
  const code = systemCode(error) ?? "unknown error";
  if (code === "NotRegular")
    return "is no regular file: devices and pipes are not read, as they may have no end";
  if (code === "ETIMEDOUT") return `is a pipe that did not come to its end in ${PIPE_TIMEOUT_MS / 1000} s`;
  return `cannot be read (${code})`;
}

/** Reads the next piece into the buffer, and answers with its bytes; none at the end. */
type ReadPiece = (handle: FileHandle, buffer: Buffer) => Promise<number>;

async function readUntilEnd(handle: FileHandle, maxBytes: number, read: ReadPiece): Promise<string> {
  const pieces: Buffer[] = [];
  for (let bytes = 0; ; ) {
    const buffer = Buffer.allocUnsafe(Math.min(64 * 1024, maxBytes + 1 - bytes));
    const got = await read(handle, buffer);
    if (got === 0) return Buffer.concat(pieces).toString("utf8");
    bytes += got;
    if (bytes > maxBytes) throw coded("EFBIG", `larger than ${maxBytes} bytes`);
    pieces.push(buffer.subarray(0, got));
  }
}

async function readPiece(handle: FileHandle, buffer: Buffer): Promise<number> {
  return (await handle.read(buffer, 0, buffer.length, null)).bytesRead;
}

/** Reads a pipe: as long as nobody has written to it, its end is none, and what is not there yet may come. */
function patiently(): ReadPiece {
  const deadline = performance.now() + PIPE_TIMEOUT_MS;
  let hasBegun = false;
  return async (handle, buffer) => {
    while (performance.now() < deadline) {
      const got = await readPiece(handle, buffer).catch((error: unknown) => {
        if (systemCode(error) === "EAGAIN") return undefined;
        throw error;
      });
      if (got !== undefined && (got > 0 || hasBegun)) {
        hasBegun = true;
        return got;
      }
      await delay(PIPE_LOOK_MS);
    }
    throw coded("ETIMEDOUT", "time-out");
  };
}

function coded(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}
