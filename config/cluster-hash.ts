import { createHash } from "node:crypto";

/**
 * Returns the hash that relay and function compare before anything is written: 16 hexadecimal digits of a
 * SHA-256 over a cluster's entry as written. Defaults are left out, so a version with one more key still
 * works with its predecessor. Sign-in is left out because it differs between relay and functions; authorities
 * are left out because they rotate. The hash of an entry must never change between versions.
 */
export function hashOfEntry(written: Readonly<Record<string, unknown>>): string {
  const { signIn: _, certificateAuthorityFile: __, certificateAuthorityData: ___, ...agreedOn } = written;
  return createHash("sha256").update(formatCanonicalJson(agreedOn)).digest("hex").slice(0, 16);
}

function formatCanonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(formatCanonicalJson).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const entries = Object.entries(value).filter(([, member]) => member !== undefined);
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, member]) => `${JSON.stringify(key)}:${formatCanonicalJson(member)}`).join(",")}}`;
}
