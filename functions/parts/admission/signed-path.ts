import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from "node:crypto";

/**
 * The paths under which API servers ask the function: `/lb-service/CLUSTER/SIGNATURE`. The operator signs each cluster's path (Ed25519),
 * and the function has the public keys in its environment. So it tells a request of a cluster from one of a stranger before it reads
 * anything, for clusters that exist and others alike, and holds no secret with which paths are made.
 */
export interface AskedPath {
  readonly cluster: string;
  /** Whether the operator has signed the path for this cluster. */
  readonly isSigned: boolean;
}

/** Reads the path of a request; undefined for one that names no cluster. */
export type ReadPath = (path: string) => AskedPath | undefined;

/** The keys of a deployment, or the first fault of what its environment says. */
export type PathKeys =
  | { readonly kind: "keys"; readonly keys: readonly KeyObject[] }
  | { readonly kind: "fault"; readonly message: string };

/** Two while a key is replaced by another; each that does not match costs a request of a stranger some CPU. */
const MAX_KEYS = 4;
/** A public key of Ed25519 as SubjectPublicKeyInfo (RFC 8410), in base64. */
const PUBLIC_KEY = /^MCowBQYDK2VwAyEA[A-Za-z0-9+/]{43}=$/;

/** Parses public keys between commas, as `infra admission-url --public-key` prints them. */
export function parsePathKeys(text: string | undefined): PathKeys {
  const written = (text ?? "").split(",").flatMap((each) => each.trim() || []);
  if (written.length === 0) return { kind: "fault", message: "names no public key" };
  if (written.length > MAX_KEYS)
    return { kind: "fault", message: `names ${written.length} public keys; give at most ${MAX_KEYS}` };
  if (!written.every((each) => PUBLIC_KEY.test(each)))
    return { kind: "fault", message: "is no list of public keys of Ed25519 in base64, with commas between" };
  const keys = written.map((each) =>
    createPublicKey({ key: Buffer.from(each, "base64"), format: "der", type: "spki" }),
  );
  return { kind: "keys", keys };
}

const PATH = /^\/lb-service\/([a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?)(?:\/([^/]*))?$/;
/** 64 bytes in base64url. */
const SIGNATURE = /^[A-Za-z0-9_-]{86}$/;

/** Reads paths that one of these keys may have signed; without a key none is. */
export function createReadPath(keys: readonly KeyObject[]): ReadPath {
  return (path) => {
    const [, cluster, signature = ""] = PATH.exec(path) ?? [];
    if (cluster === undefined) return undefined;
    const bytes = SIGNATURE.test(signature) ? Buffer.from(signature, "base64url") : undefined;
    const isSigned = bytes !== undefined && keys.some((key) => verify(null, signedText(cluster), key, bytes));
    return { cluster, isSigned };
  };
}

/** The path for a cluster. `privateKey` is PEM; throws where it is no private key of Ed25519. */
export function signPath(cluster: string, privateKey: string): string {
  const signature = sign(null, signedText(cluster), readPrivateKey(privateKey)).toString("base64url");
  return `/lb-service/${cluster}/${signature}`;
}

/** The public key of a private one, as `ADMISSION_PUBLIC_KEYS` takes it. */
export function publicKeyOf(privateKey: string): string {
  const key = createPublicKey(readPrivateKey(privateKey));
  return key.export({ format: "der", type: "spki" }).toString("base64");
}

function readPrivateKey(pem: string): KeyObject {
  const key = createPrivateKey(pem);
  if (key.asymmetricKeyType !== "ed25519")
    throw new Error(`the key is of ${key.asymmetricKeyType}; one of ed25519 is needed`);
  return key;
}

/** What else the key may sign is never the path of a cluster. */
function signedText(cluster: string): Buffer {
  return Buffer.from(`serverless-ccm admission\n/lb-service/${cluster}`);
}
