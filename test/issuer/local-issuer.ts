import { generateKeyPairSync, type KeyObject, randomUUID, sign as signBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { createCertificateAuthority } from "#emulators/harness/certificates.ts";

/** The algorithm of a signature, as AWS uses them; `none` is for attacks. */
export type SigningAlgorithm = "RS256" | "ES384" | "none";

/** The claims of a token, by name; undefined omits a default. */
export type Claims = Readonly<Record<string, unknown>>;

/** An OpenID Connect issuer, which signs tokens and publishes its keys over https. */
export interface LocalIssuer {
  /** Its name in tokens and in the discovery document. */
  readonly issuer: string;
  /** Its address, without a trailing slash. */
  readonly url: string;
  /** The address of its discovery document, for an API server that must not read it below `issuer`. */
  readonly discoveryUrl: string;
  /** The authority of the server's certificate, as PEM. */
  readonly certificateAuthority: string;
  /**
   * Returns a signed token. `iss`, `iat` (now), `exp` (after five minutes) and `jti` are set unless `claims`
   * has them; times are seconds.
   */
  sign(claims: Claims, how?: SigningOptions): string;
  /** Signs with new keys from now on, and publishes only these. */
  rotateKeys(): void;
  /** Returns the requested paths, in order. */
  asked(): readonly string[];
  close(): Promise<void>;
}

export interface SigningOptions {
  /** The default is RS256. */
  readonly algorithm?: SigningAlgorithm;
  /** Signs with an unpublished key, under the name of the published one. */
  readonly forged?: boolean;
}

/** Starts an issuer on a free port of 127.0.0.1, with its own certificate authority. */
export async function startIssuer(
  options: {
    /** Another name than its own URL, such as one of AWS's. */
    readonly issuer?: string;
  } = {},
): Promise<LocalIssuer> {
  const authority = await createCertificateAuthority({ name: "local-issuer" });
  const { certificate, key } = await authority.issueServer();
  let keys = makeKeys();
  const forgedKeys = makeKeys();
  const asked: string[] = [];
  const server = createServer({ cert: certificate, key }, (request, response) => {
    const path = request.url ?? "/";
    asked.push(path);
    const body = documents()[path];
    response.writeHead(body === undefined ? 404 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(body ?? { error: "not found" }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const issuer = options.issuer ?? url;
  const documents = (): Readonly<Record<string, unknown>> => ({
    [DISCOVERY_PATH]: discoveryDocument(issuer, url),
    [KEYS_PATH]: { keys: [publicKey(keys.RS256, "RS256"), publicKey(keys.ES384, "ES384")] },
  });
  return {
    issuer,
    url,
    discoveryUrl: `${url}${DISCOVERY_PATH}`,
    certificateAuthority: authority.certificate,
    sign: (claims, { algorithm = "RS256", forged = false } = {}) => {
      const seconds = Math.floor(Date.now() / 1_000);
      const all = { iss: issuer, iat: seconds, exp: seconds + 300, jti: randomUUID(), ...claims };
      return signToken(all, algorithm, keys, forged ? forgedKeys : keys);
    },
    rotateKeys: () => {
      keys = makeKeys();
    },
    asked: () => [...asked],
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

const DISCOVERY_PATH = "/.well-known/openid-configuration";
const KEYS_PATH = "/.well-known/jwks.json";

interface Key {
  readonly id: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}
type Keys = Readonly<Record<"RS256" | "ES384", Key>>;

function makeKeys(): Keys {
  return {
    RS256: { id: randomUUID(), ...generateKeyPairSync("rsa", { modulusLength: 2048 }) },
    ES384: { id: randomUUID(), ...generateKeyPairSync("ec", { namedCurve: "P-384" }) },
  };
}

function publicKey({ id, publicKey: key }: Key, algorithm: keyof Keys): Record<string, unknown> {
  return { ...key.export({ format: "jwk" }), kid: id, alg: algorithm, use: "sig" };
}

function discoveryDocument(issuer: string, url: string): Record<string, unknown> {
  return {
    issuer,
    jwks_uri: `${url}${KEYS_PATH}`,
    response_types_supported: ["id_token"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["RS256", "ES384"],
  };
}

function signToken(claims: Claims, algorithm: SigningAlgorithm, named: Keys, signing: Keys): string {
  const kid = algorithm === "none" ? undefined : named[algorithm].id;
  const text = [{ alg: algorithm, typ: "JWT", kid }, claims].map(encoded).join(".");
  if (algorithm === "none") return `${text}.`;
  const key = signing[algorithm].privateKey;
  const [hash, options] =
    algorithm === "RS256"
      ? (["sha256", key] as const)
      : (["sha384", { key, dsaEncoding: "ieee-p1363" }] as const);
  return `${text}.${signBytes(hash, Buffer.from(text), options).toString("base64url")}`;
}

function encoded(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}
