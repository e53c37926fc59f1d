import { open } from "node:fs/promises";
import type { Authorize } from "#clouds/http/api.ts";

/** A bearer token that does not change while the process lives; `source` is what messages call it. Throws where it is none. */
export function fixedToken(token: string, source: string): Authorize {
  const header = headerOf(token, source);
  return async () => header;
}

/** A bearer token from a file that is read again whenever it changed, and at once where the server refused what it held. */
export function tokenFile(file: string): Authorize {
  let known: Read | undefined;
  return async (refused) => {
    try {
      known = await read(file, refused === undefined ? known : undefined);
    } catch (error) {
      // In the middle of a rotation the last token still holds; it is the server that says when it does not.
      if (known === undefined || refused !== undefined) throw error;
    }
    return known.header;
  };
}

/** What stood in the file, and how the file looked then. */
interface Read {
  readonly header: string;
  readonly version: string;
}

const MAX_BYTES = 64 * 1024;

async function read(file: string, known: Read | undefined): Promise<Read> {
  const handle = await open(file).catch((cause: NodeJS.ErrnoException) => {
    const detail = cause.code ?? "unknown error";
    const todo = "see that it is there and that this process may read it";
    throw new Error(`the token file ${file} cannot be read (${detail}); ${todo}`, { cause });
  });
  try {
    const { mtimeMs, ctimeMs, ino, size } = await handle.stat();
    const version = [mtimeMs, ctimeMs, ino, size].join();
    if (known?.version === version) return known;
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(MAX_BYTES + 1), 0, MAX_BYTES + 1, 0);
    if (bytesRead > MAX_BYTES) throw new Error(`the token file ${file} is larger than ${MAX_BYTES} bytes`);
    return { header: headerOf(buffer.toString("utf8", 0, bytesRead), `the token file ${file}`), version };
  } finally {
    await handle.close();
  }
}

/** Throws where the text is no bearer token, without quoting it. */
function headerOf(text: string, source: string): string {
  const token = text.trim();
  if (token === "") throw new Error(`${source} is empty; put the API token into it`);
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new Error(`${source} is not one API token; it has spaces or lines`);
  return `Bearer ${token}`;
}
