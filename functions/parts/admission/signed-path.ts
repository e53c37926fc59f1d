import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from "node:crypto";

/**
 * A path at which an API server asks the function: `/lb-service/CLUSTER/SIGNATURE`. The operator signs each
 * cluster's path (Ed25519), and the function has the public keys in its environment. The function can
 * therefore reject strangers before it reads anything, whether the cluster exists or not. It holds no secret
 * that could sign paths.
 */
export interface RequestedPath {
  readonly cluster: string;
  /** Whether the operator signed the path for this cluster. */
  readonly isSigned: boolean;
}

/** Reads the path of a request; undefined if it names no cluster. */
export type ReadPath = (path: string) => RequestedPath | undefined;

/** The keys of a deployment, or the first fault in its environment. */
export type PathKeys =
  | { readonly kind: "keys"; readonly keys: readonly KeyObject[] }
  | { readonly kind: "fault"; readonly message: string };

/** Two are needed while a key is replaced; each mismatch costs CPU on a stranger's request. */
const MAX_KEYS = 4;
/** An Ed25519 public key as SubjectPublicKeyInfo (RFC 8410), in base64. */
const PUBLIC_KEY = /^MCowBQYDK2VwAyEA[A-Za-z0-9+/]{43}=$/;

/** Parses comma-separated public keys, as `infra admission-url --public-key` prints them. */
export function parsePathKeys(text: string | undefined): PathKeys {
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

const PATH = /^\/lb-service\/([a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?)(?:\/([^/]*))?$/;
/** 64 bytes in base64url. */
const SIGNATURE = /^[A-Za-z0-9_-]{86}$/;

/** Creates a reader of paths signed by one of these keys; without keys, no path is signed. */
export function createReadPath(keys: readonly KeyObject[]): ReadPath {
  return (path) => {
    const [, cluster, signature = ""] = PATH.exec(path) ?? [];
    if (cluster === undefined) return undefined;
    const bytes = SIGNATURE.test(signature) ? Buffer.from(signature, "base64url") : undefined;
    const isSigned =
      bytes !== undefined && keys.some((key) => verify(null, formatSignedText(cluster), key, bytes));
    return { cluster, isSigned };
  };
}

/** Returns the signed path for a cluster. `privateKey` is PEM; throws if it is not an Ed25519 private key. */
export function signPath(cluster: string, privateKey: string): string {
  const signature = sign(null, formatSignedText(cluster), readPrivateKey(privateKey)).toString("base64url");
  return `/lb-service/${cluster}/${signature}`;
}

/** Returns the public key of a private key in the format of `ADMISSION_PUBLIC_KEYS`. */
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

/** The prefix ensures that another signature of this key is never valid for a path. */
function formatSignedText(cluster: string): Buffer {
  return Buffer.from(`serverless-ccm admission\n/lb-service/${cluster}`);
}
