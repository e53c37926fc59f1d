import { createHash, type KeyObject, sign as signBytes } from "node:crypto";
import type { Sign, SignedRequest } from "#clouds/http/api.ts";
import type { Signature } from "#clouds/http/classify.ts";
import type { KeySource } from "#clouds/oci/private-key.ts";

/** The signing identity, and the host. */
export interface Signer {
  /** `<tenancy>/<user>/<fingerprint>`. */
  readonly keyId: string;
  readonly key: KeySource;
  /** As in the `host` header, with the port if there is one. */
  readonly host: string;
  /** Milliseconds since the epoch. */
  readonly wallClock: () => number;
}

/**
 * Creates Oracle's request signature, version 1: RSA-SHA256 over date, request target and host, and over the
 * body for POST, PUT and PATCH. Each attempt has its own date, because one that is five minutes old is
 * rejected.
 */
export function signRequests({ keyId, key, host, wallClock }: Signer): Sign {
  const keys = new WeakMap<Signature, KeyObject>();
  return async (request, refused) => {
    const previousKey = refused && keys.get(refused);
    const current = await key(previousKey);
    if (refused !== undefined && current === previousKey) return refused;
    const date = new Date(wallClock()).toUTCString();
    const headers = buildSignedHeaders(request, { date, host });
    const authorization = buildAuthorization(headers, { keyId, key: current });
    const { "(request-target)": _, host: __, ...sent } = headers;
    const signature = { headers: { ...sent, authorization }, secrets: [parseSignature(authorization)] };
    keys.set(signature, current);
    return signature;
  };
}

/** Builds the signed headers, by name and in this order. */
export function buildSignedHeaders(
  { method, path, body }: SignedRequest,
  { date, host }: { readonly date: string; readonly host: string },
): Readonly<Record<string, string>> {
  const commonHeaders = { date, "(request-target)": `${method.toLowerCase()} ${path}`, host };
  if (!WITH_BODY.has(method)) return commonHeaders;
  return {
    ...commonHeaders,
    "content-length": String(Buffer.byteLength(body ?? "")),
    "content-type": "application/json",
    "x-content-sha256": createHash("sha256")
      .update(body ?? "")
      .digest("base64"),
  };
}

/** Formats the lines that are signed. */
export function formatSigningString(headers: Readonly<Record<string, string>>): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n");
}

/** Builds the `authorization` header of a request with signed headers. */
export function buildAuthorization(
  headers: Readonly<Record<string, string>>,
  { keyId, key }: { readonly keyId: string; readonly key: KeyObject },
): string {
  const signature = signBytes("sha256", Buffer.from(formatSigningString(headers)), key).toString("base64");
  const names = Object.keys(headers).join(" ");
  return `Signature version="1",keyId="${keyId}",algorithm="rsa-sha256",headers="${names}",signature="${signature}"`;
}

/** Methods whose body is signed, even if it is empty. */
const WITH_BODY: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);

function parseSignature(authorization: string): string {
  return /signature="([^"]*)"/.exec(authorization)?.[1] ?? authorization;
}
