import { createPrivateKey, X509Certificate } from "node:crypto";
import { describeFileError, readSmallFile } from "#config/read-small-file.ts";
import { SignInError, type SignInSubject } from "#config/sign-in/error.ts";
import type { ClientCertificate } from "#kube/client/connection.ts";
import { getSystemCode } from "#kube/client/errors.ts";
import type { Authorization } from "#kube/client/transport.ts";

const MAX_TOKEN_BYTES = 64 * 1024;
const MAX_PEM_BYTES = 1024 * 1024;
/** Interval of rereading a token file; kubelets renew tokens long before they expire. */
const TOKEN_READ_INTERVAL_MS = 10_000;

/**
 * Rereads each time. If a read fails during a rotation, the last value stays valid until the server rejects
 * it (`fresh`).
 */
export function createCachedReader<Value>(read: () => Promise<Value>): (fresh: boolean) => Promise<Value> {
  let last: { readonly value: Value } | undefined;
  return async (fresh) => {
    try {
      last = { value: await read() };
      return last.value;
    } catch (error) {
      if (last === undefined || fresh) throw error;
      return last.value;
    }
  };
}

/**
 * Returns a reader of a token file. It rereads at an interval, and at once when the server rejected the
 * token. Concurrent callers share one read.
 */
export function createTokenFileReader(file: string, about: SignInSubject, now: () => number): Authorization {
  let known: { readonly header: string; readonly readAt: number } | undefined;
  let reading: Promise<string> | undefined;

  const read = async (): Promise<string> => {
    try {
      const header = `Bearer ${await readToken(file, about)}`;
      known = { header, readAt: now() };
      return header;
    } finally {
      reading = undefined;
    }
  };

  return async (_signal, options) => {
    const fresh = options?.fresh === true;
    // After the machine's clock was set back, the age is unknown.
    const ageMs = known === undefined ? undefined : now() - known.readAt;
    const isYoung = ageMs !== undefined && ageMs >= 0 && ageMs < TOKEN_READ_INTERVAL_MS;
    if (!fresh && known !== undefined && isYoung) return known.header;
    reading ??= read();
    try {
      return await reading;
    } catch (error) {
      // During a rotation the last token stays valid; the server rejects it once it is not.
      if (known === undefined || fresh) throw error;
      return known.header;
    }
  };
}

async function readToken(file: string, about: SignInSubject): Promise<string> {
  const token = (await readFile(file, MAX_TOKEN_BYTES, about)).trim();
  if (token === "")
    throw new SignInError("FileEmpty", about, `${file} is empty; put the bearer token into it`, file);
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw new SignInError(
    "FileInvalid",
    about,
    `${file} is not one bearer token; it has spaces or lines`,
    file,
  );
}

/** The files of a client certificate and its key. */
export interface PairFiles {
  readonly certificateFile: string;
  readonly keyFile: string;
}

/** Reads a client certificate and its key from their files. Rejects with `SignInError`. */
export async function readPair(
  { certificateFile, keyFile }: PairFiles,
  about: SignInSubject,
): Promise<ClientCertificate> {
  const certificate = await readPem(certificateFile, "CERTIFICATE", about);
  const key = await readPem(keyFile, "PRIVATE KEY", about);
  if (!isPair(certificate, key)) {
    const what = `${certificateFile} and ${keyFile} are not a certificate and its key; put both of one pair there`;
    throw new SignInError("FileInvalid", about, what, certificateFile);
  }
  return { certificate, key };
}

/** Returns whether two PEM texts are a certificate and its key. */
export function isPair(certificate: string, key: string): boolean {
  try {
    return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}

/** Reads PEM whose label contains `label`. Rejects with `SignInError`. */
export async function readPem(file: string, label: string, about: SignInSubject): Promise<string> {
  const text = await readFile(file, MAX_PEM_BYTES, about);
  if (text.trim() === "")
    throw new SignInError("FileEmpty", about, `${file} is empty; put PEM into it`, file);
  if (text.includes("-----BEGIN ") && text.includes(`${label}-----`)) return text;
  throw new SignInError("FileInvalid", about, `${file} is not PEM with a ${label}`, file);
}

async function readFile(file: string, maxBytes: number, about: SignInSubject): Promise<string> {
  try {
    return await readSmallFile(file, maxBytes);
  } catch (error) {
    if (getSystemCode(error) === "EFBIG")
      throw new SignInError("FileTooLarge", about, `${file} is larger than ${maxBytes} bytes`, file);
    const what = `${file} ${describeFileError(error)}; see that it is there and that this process may read it`;
    throw new SignInError("FileUnreadable", about, what, file, error);
  }
}
