import { createHash, createPrivateKey, createPublicKey, type KeyObject } from "node:crypto";
import { getKeyReference, type OciCloudConfig } from "#clouds/oci/config.ts";
import { keepFresh } from "#platforms/keep-fresh.ts";
import { getMaxAge, readSecret, type SecretReader } from "#platforms/secrets/read-secret.ts";
import { formatReference } from "#platforms/secrets/reference.ts";
import { SecretError } from "#platforms/secrets/secret-error.ts";

/**
 * Returns the private key for signatures; `refused` is one that the server rejected. Rejects with the fault
 * of its source.
 */
export type KeySource = (refused?: KeyObject) => Promise<KeyObject>;

/** Minimum interval between reads after rejections, however many requests there are. */
const RENEWAL_INTERVAL_MS = 60_000;

/**
 * Creates the key source of a cluster's configuration: it reads the key again at intervals, and at once after
 * a rejection. `now` is milliseconds since the epoch. It rejects a key that does not match its fingerprint,
 * because Oracle would only answer 401.
 */
export function createKeySource(
  config: Pick<OciCloudConfig, "auth" | "credentials">,
  reader: SecretReader,
  now: () => number = Date.now,
): KeySource {
  const reference = getKeyReference(config);
  const { fingerprint, passphraseFile } = config.auth;
  const freshKey = keepFresh(read, { maxAgeMs: getMaxAge(reference), now });
  let renewedAt = Number.NEGATIVE_INFINITY;
  let current: KeyObject | undefined;

  async function read() {
    const source = formatReference(reference);
    const { pem, passphrase } = parseSecret(await readSecret(reference, reader));
    if (pem === undefined) throw buildUnusableError(`${source} holds no private key as PEM`);
    const keyPassphrase = passphrase ?? (await readPassphrase(passphraseFile));
    const key = parsePrivateKey(pem, keyPassphrase, source);
    const computed = computeFingerprint(key);
    if (computed !== undefined && computed !== fingerprint.toLowerCase())
      throw buildUnusableError(`${source} holds the key ${computed}, and auth.fingerprint is ${fingerprint}`);
    // An unchanged key stays the same object, so that a rejected caller can tell whether there is another.
    if (current === undefined || !current.equals(key)) current = key;
    return { value: current };
  }

  async function readPassphrase(file: string | undefined): Promise<string | undefined> {
    if (file === undefined) return undefined;
    const phrase = findPassphrase(await readSecret({ file }, reader));
    if (phrase === undefined) throw buildUnusableError(`the file ${file} holds no passphrase on one line`);
    return phrase;
  }

  return async (refused) => {
    const key = await freshKey.get();
    if (refused !== key || now() - renewedAt < RENEWAL_INTERVAL_MS) return key;
    renewedAt = now();
    return freshKey.get({ fresh: true });
  };
}

/**
 * Parses an RSA key as PEM, in PKCS#1 or PKCS#8, encrypted or not. Throws `SecretError`, which quotes
 * nothing.
 */
function parsePrivateKey(pem: string, passphrase: string | undefined, source: string): KeyObject {
  const isEncrypted = /ENCRYPTED/.test(pem);
  if (isEncrypted && passphrase === undefined)
    throw buildUnusableError(`${source} is encrypted; give its passphrase, such as in auth.passphraseFile`);
  const key = parseKey(pem, passphrase);
  if (key === undefined)
    throw buildUnusableError(
      `${source} holds a private key that ${isEncrypted ? "this passphrase does not open" : "cannot be read"}`,
    );
  if (key.asymmetricKeyType === "rsa") return key;
  throw buildUnusableError(
    `${source} holds a key of type ${key.asymmetricKeyType}, and Oracle takes RSA alone`,
  );
}

/**
 * Computes the fingerprint as in Oracle's console: the MD5 of the public key. Undefined if this build of Node
 * has no MD5.
 */
export function computeFingerprint(key: KeyObject): string | undefined {
  const publicKey = createPublicKey(key).export({ type: "spki", format: "der" });
  try {
    return createHash("md5")
      .update(publicKey)
      .digest("hex")
      .replace(/..(?!$)/g, "$&:");
  } catch {
    return undefined;
  }
}

function parseKey(pem: string, passphrase: string | undefined): KeyObject | undefined {
  try {
    return createPrivateKey({ key: pem, format: "pem", ...(passphrase === undefined ? {} : { passphrase }) });
  } catch {
    return undefined;
  }
}

/** A JSON secret may hold the passphrase too. */
function parseSecret(text: string): { readonly pem: string | undefined; readonly passphrase?: string } {
  if (!text.trimStart().startsWith("{")) return { pem: findPem(text) };
  try {
    const parsed = JSON.parse(text);
    // A stock configuration may be JSON too.
    const { key, key_passphrase: older, passphrase = older } = Object(parsed.auth ?? parsed);
    return {
      pem: typeof key === "string" ? findPem(key) : undefined,
      ...(typeof passphrase === "string" ? { passphrase } : {}),
    };
  } catch {
    return { pem: undefined };
  }
}

function buildUnusableError(message: string): SecretError {
  return new SecretError("SecretInvalid", message);
}

/**
 * Finds the private key in a text with PEM, as the whole text or as a value of YAML; undefined without one.
 */
function findPem(text: string): string | undefined {
  const lines = text.replaceAll("\\n", "\n").split(/\r?\n/);
  const trimmed = lines.map((line) => line.replace(/^.*?(?=-----BEGIN )/, "").trim()).join("\n");
  return /-----BEGIN ([A-Z ]*PRIVATE KEY)-----\n[\s\S]*?\n-----END \1-----/.exec(trimmed)?.[0];
}

/**
 * Finds the passphrase in a text, as the whole text or in its line of a stock file; undefined without one.
 */
function findPassphrase(text: string): string | undefined {
  const lines = text.split(/\r?\n/);
  const [line, ...others] = lines.filter((line) => line !== "");
  const passphrases = lines.flatMap((line) => /^\s+(?:key_)?passphrase:\s+(.*?)\s*$/.exec(line)?.[1] ?? []);
  const [value] = passphrases.filter((each) => each !== "" && each !== '""' && each !== "''");
  if (value === undefined) return others.length === 0 && passphrases.length === 0 ? line : undefined;
  return unquote(value);
}

/** Parses a one-line YAML scalar. */
function unquote(value: string): string {
  if (/^'.*'$/.test(value)) return value.slice(1, -1).replaceAll("''", "'");
  if (!/^".*"$/.test(value)) return value.replace(/(?<!\s)\s+#.*$/s, "");
  try {
    return String(JSON.parse(value));
  } catch {
    return value.slice(1, -1);
  }
}
