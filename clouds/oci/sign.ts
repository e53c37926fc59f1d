import { createHash, type KeyObject, sign as signBytes } from "node:crypto";
import type { Sign, Signature, SignedRequest } from "#clouds/http/api.ts";
import type { KeySource } from "#clouds/oci/private-key.ts";

/** Who signs, and for which host. */
export interface Signer {
  /** `<tenancy>/<user>/<fingerprint>`. */
  readonly keyId: string;
  readonly key: KeySource;
  /** As the `host` header has it, with the port where there is one. */
  readonly host: string;
  /** Milliseconds since the epoch. */
  readonly wallClock: () => number;
}

/**
 * Oracle's request signature, version 1: RSA-SHA256 over date, request target and host, and over the body with POST, PUT and PATCH.
 * Each attempt has its own date, as one of five minutes ago is refused.
 */
export function signRequests({ keyId, key, host, wallClock }: Signer): Sign {
  const keyOf = new WeakMap<Signature, KeyObject>();
  return async (request, refused) => {
    const before = refused && keyOf.get(refused);
    const current = await key(before);
    if (refused !== undefined && current === before) return refused;
    const date = new Date(wallClock()).toUTCString();
    const headers = signedHeaders(request, { date, host });
    const authorization = authorizationOf(headers, { keyId, key: current });
    const { "(request-target)": _, host: __, ...sent } = headers;
    const signature = { headers: { ...sent, authorization }, secrets: [signatureIn(authorization)] };
    keyOf.set(signature, current);
    return signature;
  };
}

/** What is signed, by name and in this order. */
export function signedHeaders(
  { method, path, body }: SignedRequest,
  { date, host }: { readonly date: string; readonly host: string },
): Readonly<Record<string, string>> {
  const generic = { date, "(request-target)": `${method.toLowerCase()} ${path}`, host };
  if (!WITH_BODY.has(method)) return generic;
  return {
    ...generic,
    "content-length": String(Buffer.byteLength(body ?? "")),
    "content-type": "application/json",
    "x-content-sha256": createHash("sha256")
      .update(body ?? "")
      .digest("base64"),
  };
}

/** The lines over which the signature goes. */
export function signingString(headers: Readonly<Record<string, string>>): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n");
}

/** The `authorization` header of a request whose headers are signed. */
export function authorizationOf(
  headers: Readonly<Record<string, string>>,
  { keyId, key }: { readonly keyId: string; readonly key: KeyObject },
): string {
  const signature = signBytes("sha256", Buffer.from(signingString(headers)), key).toString("base64");
  const names = Object.keys(headers).join(" ");
  return `Signature version="1",keyId="${keyId}",algorithm="rsa-sha256",headers="${names}",signature="${signature}"`;
}

/** Methods whose body is signed, empty or not. */
const WITH_BODY: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);

function signatureIn(authorization: string): string {
  return /signature="([^"]*)"/.exec(authorization)?.[1] ?? authorization;
}
