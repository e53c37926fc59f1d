import type { Reading } from "#clouds/keep-fresh.ts";
import { referenceWords, type SecretReference } from "#clouds/secrets/reference.ts";
import { SecretError } from "#clouds/secrets/secret-error.ts";
import { tokenIn } from "#clouds/secrets/token-in.ts";
import { endOfCertificate, isPair } from "#config/sign-in/client-pair.ts";
import { jwtEnd } from "#config/sign-in/jwt-end.ts";
import type { TlsCredentials } from "#kube/client/connection.ts";

/** What one signs in with, at one time. */
export interface Material {
  /** Of each request. */
  readonly header?: string | undefined;
  /** Of each connection. */
  readonly tls?: TlsCredentials;
}

/** The token of a secret. Throws `SecretError`. */
export function tokenMaterial(text: string, from: SecretReference, now: number): Reading<Material> {
  const token = tokenIn(text, from);
  const endsAt = jwtEnd(token);
  refuseEnded(`the token in ${referenceWords(from)}`, endsAt, now);
  return { value: { header: `Bearer ${token}` }, endsAt };
}

/**
 * The client certificate and the key of a secret: PEM of both in one text, or JSON with the keys `tls.crt` and `tls.key`, as a
 * Kubernetes Secret has them. Throws `SecretError`.
 */
export function pairMaterial(text: string, from: SecretReference, now: number): Reading<Material> {
  return pairReading(pairIn(text), referenceWords(from), now);
}

/** A client certificate with its end, which is not over. Throws `SecretError`. */
export function pairReading(
  { certificate, key }: { readonly certificate: string; readonly key: string },
  where: string,
  now: number,
): Reading<Material> {
  if (!isPair(certificate, key)) {
    const todo = "put there PEM of both, or JSON with tls.crt and tls.key";
    throw new SecretError("SecretInvalid", `${where} holds no client certificate and its key; ${todo}`);
  }
  const endsAt = endOfCertificate(certificate);
  refuseEnded(`the certificate in ${where}`, endsAt, now);
  return { value: { tls: { clientCertificate: { certificate, key } } }, endsAt };
}

/** Throws `SecretError` where the end of what was read is over: the API server would say no more than 401. */
export function refuseEnded(what: string, endsAt: number | undefined, now: number): void {
  if (endsAt === undefined || endsAt > now) return;
  const ended = new Date(endsAt).toISOString();
  throw new SecretError(
    "SecretExpired",
    `${what} has ended at ${ended}; see why nobody has put a new one there`,
  );
}

function pairIn(text: string): { readonly certificate: string; readonly key: string } {
  if (!text.trimStart().startsWith("{"))
    return { certificate: blocks(text, "CERTIFICATE"), key: blocks(text, "PRIVATE KEY") };
  try {
    const written: Readonly<Record<string, unknown>> = JSON.parse(text);
    return { certificate: String(written["tls.crt"] ?? ""), key: String(written["tls.key"] ?? "") };
  } catch {
    return { certificate: "", key: "" };
  }
}

/** The blocks of PEM whose label ends so. */
function blocks(text: string, label: string): string {
  const all = text.match(/-----BEGIN [A-Z0-9 ]+-----[^-]+-----END [A-Z0-9 ]+-----/g) ?? [];
  return all.filter((block) => block.endsWith(`${label}-----`)).join("\n");
}
