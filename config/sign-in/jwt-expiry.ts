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
