import { referenceWords, type SecretReference } from "#clouds/secrets/reference.ts";
import { SecretError } from "#clouds/secrets/secret-error.ts";

/** The one token that a secret holds: its text, or the key `token` where it is a JSON object. Throws `SecretError`, which quotes nothing. */
export function tokenIn(text: string, reference: SecretReference): string {
  const token = (text.trimStart().startsWith("{") ? keyOf(text) : text).trim();
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  const expected = "the token alone, or JSON with the key token";
  throw new SecretError(
    "SecretInvalid",
    `${referenceWords(reference)} holds no token; put there ${expected}`,
  );
}

function keyOf(text: string): string {
  try {
    const { token } = JSON.parse(text);
    return typeof token === "string" ? token : "";
  } catch {
    return "";
  }
}
