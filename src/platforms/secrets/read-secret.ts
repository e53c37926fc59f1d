import { type FileHandle, open } from "node:fs/promises";
import { formatReference, getReferenceRegion, type SecretReference } from "#platforms/secrets/reference.ts";
import { SecretError } from "#platforms/secrets/secret-error.ts";

/** The identity for which a secret is read. */
export interface SecretReader {
  /** Part of the role session's name. */
  readonly clusterName: string;
  /** Default for references without a region. */
  readonly region?: string | undefined;
}

/** A kubeconfig is the largest secret; Secrets Manager accepts 64 KiB. */
const MAX_BYTES = 1024 * 1024;

/**
 * Reads the current value of a reference. AWS's clients are imported on first use. Rejects with
 * `SecretError`.
 */
export async function readSecret(reference: SecretReference, reader: SecretReader): Promise<string> {
  const text = await readFrom(reference, reader);
  if (text.trim() !== "") return text;
  throw new SecretError("SecretInvalid", `${formatReference(reference)} is empty`);
}

/** Returns the milliseconds after which a secret without an expiry is read again; files cost nothing. */
export function getMaxAge({ file }: SecretReference): number {
  return file === undefined ? 5 * 60_000 : 10_000;
}

async function readFrom(reference: SecretReference, { clusterName, region }: SecretReader): Promise<string> {
  const { secretsManager, ssmParameter, file, roleArn } = reference;
  const caller = { clusterName, region: getReferenceRegion(reference) ?? region, roleArn };
  if (secretsManager !== undefined) {
    const { readSecretsManager } = await import("#platforms/aws/secrets/secrets-manager.ts");
    return readSecretsManager(secretsManager, caller);
  }
  if (ssmParameter !== undefined) {
    const { readParameter } = await import("#platforms/aws/secrets/parameter-store.ts");
    return readParameter(ssmParameter, caller);
  }
  return readFile(file ?? "");
}

async function readFile(file: string): Promise<string> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(file);
    if (!(await handle.stat()).isFile())
      throw new SecretError("SecretInvalid", `${file} is not a regular file: what has no end is not read`);
    const buffer = Buffer.alloc(MAX_BYTES + 1);
    let bytes = 0;
    for (let got = 1; got > 0 && bytes < buffer.length; bytes += got)
      got = (await handle.read(buffer, bytes, buffer.length - bytes, bytes)).bytesRead;
    if (bytes > MAX_BYTES)
      throw new SecretError("SecretInvalid", `${file} is larger than ${MAX_BYTES} bytes`);
    return buffer.toString("utf8", 0, bytes);
  } catch (error) {
    if (error instanceof SecretError) throw error;
    const code = String(Reflect.get(Object(error), "code") ?? "unknown error");
    const what = `${file} cannot be read (${code}); see that it is there and that this process may read it`;
    throw new SecretError(code === "ENOENT" ? "SecretNotFound" : "SecretUnavailable", what);
  } finally {
    await handle?.close();
  }
}

/**
 * Reads an authority's certificates from a file, as PEM; undefined if no file is named. Rejects if it is
 * unreadable or holds none.
 */
export async function readAuthority(file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined;
  const text = await readSecret({ file }, { clusterName: "" });
  if (text.includes("-----BEGIN CERTIFICATE-----")) return text;
  throw new Error(`${file} holds no certificate; put the authority's there, as PEM with BEGIN CERTIFICATE`);
}
