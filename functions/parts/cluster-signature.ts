import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import type { Log } from "#functions/parts/log-report.ts";

/**
 * An operator's signature (Ed25519) that lets an API server call a function's URL for one cluster. The
 * function has the public keys in its environment. It can therefore reject strangers before it reads anything,
 * whether the cluster exists or not. It holds no secret that could sign.
 */
export type VerifySignature = (cluster: string, signature: string) => boolean;

/**
 * What a signature is for, with the text before the cluster's name. A signature for one purpose or cluster is
 * never valid for another: the first lines differ, and a name has no line break.
 */
const SIGNED_TEXT = {
  admission: "serverless-ccm admission\n/lb-service/",
  audit: "serverless-ccm audit\n/audit/",
} as const;
export type SignaturePurpose = keyof typeof SIGNED_TEXT;

/** The keys of a deployment, or the first fault in its environment. */
export type PublicKeys =
  | { readonly kind: "keys"; readonly keys: readonly KeyObject[] }
  | { readonly kind: "fault"; readonly message: string };

/** Two are needed while a key is replaced; each mismatch costs CPU on a stranger's request. */
const MAX_KEYS = 4;
/** An Ed25519 public key as SubjectPublicKeyInfo (RFC 8410), in base64. */
const PUBLIC_KEY = /^MCowBQYDK2VwAyEA[A-Za-z0-9+/]{43}=$/;

/** Parses comma-separated public keys, as `infra admission-url --public-key` prints them. */
export function parsePublicKeys(text: string | undefined): PublicKeys {
  const written = (text ?? "").split(",").flatMap((each) => each.trim() || []);
  if (written.length === 0) return { kind: "fault", message: "names no public key" };
  if (written.length > MAX_KEYS)
    return { kind: "fault", message: `names ${written.length} public keys; give at most ${MAX_KEYS}` };
  if (!written.every((each) => PUBLIC_KEY.test(each)))
    return { kind: "fault", message: "is not a list of public Ed25519 keys in base64, separated by commas" };
  const keys = written.map((each) =>
    createPublicKey({ key: Buffer.from(each, "base64"), format: "der", type: "spki" }),
  );
  return { kind: "keys", keys };
}

/** Reads the public keys of a variable; without valid ones it returns none and logs why. */
export function readPublicKeys(
  environment: Readonly<Record<string, string | undefined>>,
  variable: string,
  log: Log,
): readonly KeyObject[] {
  const parsed = parsePublicKeys(environment[variable]);
  if (parsed.kind === "keys") return parsed.keys;
  log({ level: "error", event: "Misconfigured", message: `${variable} ${parsed.message}` });
  return [];
}

/** 64 bytes in base64url. */
const SIGNATURE = /^[A-Za-z0-9_-]{86}$/;

/** Creates the check of signatures for a purpose by these keys; without keys, none is valid. */
export function createVerifySignature(
  purpose: SignaturePurpose,
  keys: readonly KeyObject[],
): VerifySignature {
  return (cluster, signature) => {
    if (!SIGNATURE.test(signature)) return false;
    const bytes = Buffer.from(signature, "base64url");
    return keys.some((key) => verify(null, formatSignedText(purpose, cluster), key, bytes));
  };
}

/** Signs for a cluster. `privateKey` is PEM; throws if it is not an Ed25519 private key. */
export function signCluster(purpose: SignaturePurpose, cluster: string, privateKey: string): string {
  return sign(null, formatSignedText(purpose, cluster), readPrivateKey(privateKey)).toString("base64url");
}

/** Returns the public key of a private key in the format that `parsePublicKeys` reads. */
export function derivePublicKey(privateKey: string): string {
  const key = createPublicKey(readPrivateKey(privateKey));
  return key.export({ format: "der", type: "spki" }).toString("base64");
}

function readPrivateKey(pem: string): KeyObject {
  const key = createPrivateKey(pem);
  if (key.asymmetricKeyType !== "ed25519")
    throw new Error(`the key is of ${key.asymmetricKeyType}; one of ed25519 is needed`);
  return key;
}

function formatSignedText(purpose: SignaturePurpose, cluster: string): Buffer {
  return Buffer.from(`${SIGNED_TEXT[purpose]}${cluster}`);
}
