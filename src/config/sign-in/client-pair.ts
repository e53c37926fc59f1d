import { createPrivateKey, X509Certificate } from "node:crypto";

/** Whether two PEM texts are a certificate and its key. */
export function isPair(certificate: string, key: string): boolean {
  try {
    return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}

/**
 * Returns the expiry of a certificate, in milliseconds since the epoch. In a chain, the first is the client's
 * own.
 */
export function readCertificateExpiry(certificate: string): number {
  return Date.parse(new X509Certificate(certificate).validTo);
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
