import { X509Certificate } from "node:crypto";
import { describeFileError, readSmallFile } from "#config/read-small-file.ts";
import { isPair } from "#config/sign-in/files.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";

const MAX_TOKEN_BYTES = 64 * 1024;
const MAX_PEM_BYTES = 1024 * 1024;

/** Two tokens are valid while one replaces the other. */
const MAX_TOKENS = 2;

/** A bearer token: visible ASCII, as a header carries it. */
const TOKEN = /^[\x21-\x7e]+$/;

/** Returns whether a text is a bearer token. */
export function isToken(text: string): boolean {
  return TOKEN.test(text);
}

/** Reads bearer tokens from a file, one a line. Rejects with a message that names the file and quotes nothing. */
export async function readTokenFile(file: string, most = MAX_TOKENS): Promise<readonly string[]> {
  const lines = (await readText(file, MAX_TOKEN_BYTES)).split("\n").map((line) => line.trim());
  const tokens = lines.filter((line) => line !== "");
  if (tokens.length === 0) throw new Error(`${file} is empty; put the bearer token into it`);
  if (tokens.length > most)
    throw new Error(`${file} has ${tokens.length} lines; give at most ${most} tokens`);
  if (!tokens.every(isToken))
    throw new Error(`${file} holds no bearer token: a line has spaces or other characters`);
  return tokens;
}

/** Reads certificates in PEM. Rejects as `readTokenFile`. */
export async function readCertificateFile(file: string): Promise<string> {
  const text = await readText(file, MAX_PEM_BYTES);
  try {
    new X509Certificate(text);
    return text;
  } catch {
    throw new Error(`${file} is not a certificate in PEM`);
  }
}

/** Reads a certificate with its chain, and its private key, in PEM. Rejects as `readTokenFile`. */
export async function readKeyPairFiles(
  certificateFile: string,
  keyFile: string,
): Promise<{ readonly cert: string; readonly key: string }> {
  const [cert, key] = await Promise.all([
    readCertificateFile(certificateFile),
    readText(keyFile, MAX_PEM_BYTES),
  ]);
  if (!isPair(cert, key))
    throw new Error(`${certificateFile} and ${keyFile} are not a certificate and its key`);
  return { cert, key };
}

/** Returns what is wrong with files that are read now for the first time; undefined if nothing is. */
export async function findFileFault(read: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await read();
    return undefined;
  } catch (error) {
    return getErrorMessage(error);
  }
}

async function readText(file: string, maxBytes: number): Promise<string> {
  try {
    return await readSmallFile(file, maxBytes);
  } catch (error) {
    throw new Error(`${file} ${describeFileError(error)}`);
  }
}
