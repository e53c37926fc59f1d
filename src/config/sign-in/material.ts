import { X509Certificate } from "node:crypto";
import { isPair } from "#config/sign-in/files.ts";
import type { TlsCredentials } from "#kube/client/connection.ts";
import type { Reading } from "#platforms/keep-fresh.ts";
import { parseToken } from "#platforms/secrets/parse-token.ts";
import { formatReference, type SecretReference } from "#platforms/secrets/reference.ts";
import { SecretError } from "#platforms/secrets/secret-error.ts";

/** The credentials at one point in time. */
export interface Material {
  /** The `authorization` header of each request. */
  readonly header?: string | undefined;
  /** The TLS credentials of each connection. */
  readonly tls?: TlsCredentials;
}

/** Parses the token in a secret. Throws `SecretError`. */
export function parseTokenMaterial(text: string, from: SecretReference, now: number): Reading<Material> {
  const token = parseToken(text, from);
  const endsAt = readJwtExpiry(token);
  refuseEnded(`the token in ${formatReference(from)}`, endsAt, now);
  return { value: { header: `Bearer ${token}` }, endsAt };
}

/**
 * Parses the client certificate and key in a secret: PEM of both in one text, or JSON with the keys `tls.crt`
 * and `tls.key` as in a Kubernetes Secret. Throws `SecretError`.
 */
export function parsePairMaterial(text: string, from: SecretReference, now: number): Reading<Material> {
  return createPairReading(parsePair(text), formatReference(from), now);
}

/** Returns a client certificate with its expiry. Throws `SecretError` if it has expired. */
export function createPairReading(
  { certificate, key }: { readonly certificate: string; readonly key: string },
  where: string,
  now: number,
): Reading<Material> {
  if (!isPair(certificate, key)) {
    const todo = "put there PEM of both, or JSON with tls.crt and tls.key";
    throw new SecretError("SecretInvalid", `${where} holds no client certificate and its key; ${todo}`);
  }
  // In a chain, the first certificate is the client's own.
  const endsAt = Date.parse(new X509Certificate(certificate).validTo);
  refuseEnded(`the certificate in ${where}`, endsAt, now);
  return { value: { tls: { clientCertificate: { certificate, key } } }, endsAt };
}

/**
 * Returns the expiry in a token, in milliseconds since the epoch; undefined without one. Verifies nothing.
 */
export function readJwtExpiry(token: string): number | undefined {
  const [, claims, signature] = token.split(".");
  if (claims === undefined || signature === undefined) return undefined;
  try {
    const { exp } = JSON.parse(Buffer.from(claims, "base64url").toString("utf8"));
    return typeof exp === "number" && Number.isFinite(exp) ? exp * 1_000 : undefined;
  } catch {
    return undefined;
  }
}

/** Throws `SecretError` if the value has expired: the API server would only answer 401. */
export function refuseEnded(what: string, endsAt: number | undefined, now: number): void {
  if (endsAt === undefined || endsAt > now) return;
  const ended = new Date(endsAt).toISOString();
  throw new SecretError("SecretExpired", `${what} has ended at ${ended}; see why it was not replaced`);
}

function parsePair(text: string): { readonly certificate: string; readonly key: string } {
  if (!text.trimStart().startsWith("{"))
    return { certificate: listPemBlocks(text, "CERTIFICATE"), key: listPemBlocks(text, "PRIVATE KEY") };
  try {
    const written: Readonly<Record<string, unknown>> = JSON.parse(text);
    return { certificate: String(written["tls.crt"] ?? ""), key: String(written["tls.key"] ?? "") };
  } catch {
    return { certificate: "", key: "" };
  }
}

/** Returns the PEM blocks whose label ends with `label`. */
function listPemBlocks(text: string, label: string): string {
  const all = text.match(/-----BEGIN [A-Z0-9 ]+-----[^-]+-----END [A-Z0-9 ]+-----/g) ?? [];
  return all.filter((block) => block.endsWith(`${label}-----`)).join("\n");
}
