import { open } from "node:fs/promises";
import type { Authorize } from "#clouds/http/api.ts";
import type { Environment } from "#clouds/provider.ts";
import { keepFresh } from "#platforms/keep-fresh.ts";
import { parseToken } from "#platforms/secrets/parse-token.ts";
import { getMaxAge, readSecret, type SecretReader } from "#platforms/secrets/read-secret.ts";
import type { SecretReference } from "#platforms/secrets/reference.ts";

/** The configured source of a cluster's API token. */
export interface TokenConfig {
  readonly tokenFile?: string | undefined;
  readonly credentials?: SecretReference | undefined;
}

/** Other sources of the token, and the configuration key of its file. */
export interface TokenSource {
  readonly variable: string;
  readonly key: string;
  readonly environment: Environment;
  readonly clusterName: string;
}

/**
 * Creates the authorizer of a cluster's API token: from a secret, its file, or the environment. Throws if
 * none is set.
 */
export function createAuthorizer(
  { tokenFile: file, credentials }: TokenConfig,
  { variable, key, environment, clusterName }: TokenSource,
): Authorize {
  if (credentials !== undefined) return createReferencedToken(credentials, { clusterName });
  if (file !== undefined) return createTokenFile(file);
  const token = environment[variable];
  if (token !== undefined && token !== "") return createFixedToken(token, variable);
  throw new Error(`${key} is required if ${variable} is not set: a file with the API token`);
}

/** Creates a bearer token that never changes; `source` names it in messages. Throws if it is invalid. */
export function createFixedToken(token: string, source: string): Authorize {
  const header = formatHeader(token, source);
  return async () => header;
}

/**
 * Creates a bearer token from a file, read again when the file changes, and at once when the server rejects
 * the token.
 */
export function createTokenFile(file: string): Authorize {
  let last: FileReading | undefined;
  return async (refused) => {
    try {
      last = await readFileOnce(file, refused === undefined ? last : undefined);
    } catch (error) {
      // During a rotation the last token is still valid; the server decides when it is not.
      if (last === undefined || refused !== undefined) throw error;
    }
    return last.header;
  };
}

/** The content of the file, and its status at that time. */
interface FileReading {
  readonly header: string;
  readonly version: string;
}

const MAX_BYTES = 64 * 1024;

async function readFileOnce(file: string, last: FileReading | undefined): Promise<FileReading> {
  const handle = await open(file).catch((cause: NodeJS.ErrnoException) => {
    const detail = cause.code ?? "unknown error";
    const remedy = "check that it exists and that this process may read it";
    throw new Error(`the token file ${file} cannot be read (${detail}); ${remedy}`, { cause });
  });
  try {
    const { mtimeMs, ctimeMs, ino, size } = await handle.stat();
    const version = [mtimeMs, ctimeMs, ino, size].join();
    if (last?.version === version) return last;
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(MAX_BYTES + 1), 0, MAX_BYTES + 1, 0);
    if (bytesRead > MAX_BYTES) throw new Error(`the token file ${file} is larger than ${MAX_BYTES} bytes`);
    return { header: formatHeader(buffer.toString("utf8", 0, bytesRead), `the token file ${file}`), version };
  } finally {
    await handle.close();
  }
}

/** Throws if the text is not a bearer token, without quoting it. */
function formatHeader(text: string, source: string): string {
  const token = text.trim();
  if (token === "") throw new Error(`${source} is empty; put the API token into it`);
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new Error(`${source} is not one API token; it has spaces or lines`);
  return `Bearer ${token}`;
}

/** Minimum interval between reads after rejections, however many requests there are. */
const RENEWAL_INTERVAL_MS = 60_000;

/**
 * Creates a bearer token from a secret, read again at intervals, and at once if the server rejects it. `now`
 * is milliseconds since the epoch.
 */
export function createReferencedToken(
  reference: SecretReference,
  reader: SecretReader,
  now: () => number = Date.now,
): Authorize {
  const read = async () => ({
    value: `Bearer ${parseToken(await readSecret(reference, reader), reference)}`,
  });
  const freshHeader = keepFresh(read, { maxAgeMs: getMaxAge(reference), now });
  let renewedAt = Number.NEGATIVE_INFINITY;
  return async (refused) => {
    const header = await freshHeader.get();
    if (refused !== header || now() - renewedAt < RENEWAL_INTERVAL_MS) return header;
    renewedAt = now();
    return freshHeader.get({ fresh: true });
  };
}
