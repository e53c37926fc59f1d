import { createHash, createPrivateKey, createPublicKey, type KeyObject } from "node:crypto";
import { keepFresh } from "#clouds/keep-fresh.ts";
import { keyReference, type OciCloudConfig } from "#clouds/oci/kind.ts";
import { passphraseIn, pemIn } from "#clouds/oci/pem.ts";
import { maxAgeOf, readSecret, type SecretReader } from "#clouds/secrets/read-secret.ts";
import { referenceWords } from "#clouds/secrets/reference.ts";
import { SecretError } from "#clouds/secrets/secret-error.ts";

/** The private key that requests are signed with; `refused` is one that the server did not accept. Rejects with what is wrong with its source. */
export type KeySource = (refused?: KeyObject) => Promise<KeyObject>;

/** A server that refuses for good has the key read anew so often, however many requests there are. */
const RENEWAL_INTERVAL_MS = 60_000;

/**
 * The key of a cluster's configuration, read again now and then, and at once where the server refused it. `now` is milliseconds since
 * the epoch. One that its fingerprint does not fit is refused here: Oracle would say no more than 401.
 */
export function privateKeyOf(
  config: Pick<OciCloudConfig, "auth" | "credentials">,
  reader: SecretReader,
  now: () => number = Date.now,
): KeySource {
  const reference = keyReference(config);
  const { fingerprint, passphraseFile } = config.auth;
  const kept = keepFresh(read, { maxAgeMs: maxAgeOf(reference), now });
  let renewedAt = Number.NEGATIVE_INFINITY;
  let current: KeyObject | undefined;

  async function read() {
    const words = referenceWords(reference);
    const { pem, passphrase } = keyIn(await readSecret(reference, reader));
    if (pem === undefined) throw unusable(`${words} holds no private key as PEM`);
    const phrase = passphrase ?? (await passphraseOf(passphraseFile));
    const key = parsePrivateKey(pem, phrase, words);
    const found = fingerprintOf(key);
    if (found !== undefined && found !== fingerprint.toLowerCase())
      throw unusable(`${words} holds the key ${found}, and auth.fingerprint is ${fingerprint}`);
    // One and the same as long as it does not change, so that whoever is refused can tell whether there is another.
    if (current === undefined || !current.equals(key)) current = key;
    return { value: current };
  }

  async function passphraseOf(file: string | undefined): Promise<string | undefined> {
    if (file === undefined) return undefined;
    const phrase = passphraseIn(await readSecret({ file }, reader));
    if (phrase === undefined) throw unusable(`the file ${file} holds no passphrase on one line`);
    return phrase;
  }

  return async (refused) => {
    const key = await kept.get();
    if (refused !== key || now() - renewedAt < RENEWAL_INTERVAL_MS) return key;
    renewedAt = now();
    return kept.get({ fresh: true });
  };
}

/** Reads an RSA key as PEM, of PKCS#1 or PKCS#8, encrypted or not. Throws `SecretError`, which quotes nothing. */
function parsePrivateKey(pem: string, passphrase: string | undefined, words: string): KeyObject {
  const isEncrypted = /ENCRYPTED/.test(pem);
  if (isEncrypted && passphrase === undefined)
    throw unusable(`${words} is encrypted; give its passphrase, such as in auth.passphraseFile`);
  const key = parse(pem, passphrase);
  if (key === undefined)
    throw unusable(
      `${words} holds a private key that ${isEncrypted ? "this passphrase does not open" : "cannot be read"}`,
    );
  if (key.asymmetricKeyType === "rsa") return key;
  throw unusable(`${words} holds a key of type ${key.asymmetricKeyType}, and Oracle takes RSA alone`);
}

/** As Oracle's console shows it: the MD5 of the public key. Undefined where this build of Node has no MD5. */
export function fingerprintOf(key: KeyObject): string | undefined {
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

function parse(pem: string, passphrase: string | undefined): KeyObject | undefined {
  try {
    return createPrivateKey({ key: pem, format: "pem", ...(passphrase === undefined ? {} : { passphrase }) });
  } catch {
    return undefined;
  }
}

/** A secret that is JSON may hold the passphrase too. */
function keyIn(text: string): { readonly pem: string | undefined; readonly passphrase?: string } {
  if (!text.trimStart().startsWith("{")) return { pem: pemIn(text) };
  try {
    const parsed = JSON.parse(text);
    // A stock configuration may be written as JSON, too.
    const { key, key_passphrase: older, passphrase = older } = Object(parsed.auth ?? parsed);
    return {
      pem: typeof key === "string" ? pemIn(key) : undefined,
      ...(typeof passphrase === "string" ? { passphrase } : {}),
    };
  } catch {
    return { pem: undefined };
  }
}

function unusable(message: string): SecretError {
  return new SecretError("SecretInvalid", message);
}
