import { formatReference, type SecretReference } from "#platforms/secrets/reference.ts";
import { SecretError } from "#platforms/secrets/secret-error.ts";

/**
 * Parses the one token of a secret: its text, or the key `token` of a JSON object. Throws `SecretError`,
 * which quotes nothing.
 */
export function parseToken(text: string, reference: SecretReference): string {
  const token = (text.trimStart().startsWith("{") ? parseTokenKey(text) : text).trim();
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  const expected = "the token alone, or JSON with the key token";
  throw new SecretError(
    "SecretInvalid",
    `${formatReference(reference)} holds no token; put there ${expected}`,
  );
}

function parseTokenKey(text: string): string {
  try {
    const { token } = JSON.parse(text);
    return typeof token === "string" ? token : "";
  } catch {
    return "";
  }
}
