import { createHash } from "node:crypto";

/**
 * What relay and function compare before anything is written: 16 hexadecimal digits of a SHA-256 over a cluster's entry as
 * it was written. Defaults are no part of it, so that a version that knows one key more still talks with its predecessor;
 * neither is how one signs in, which differs between the two, or whom one trusts, who is rotated. What this makes of an entry stays the same for ever.
 */
export function hashOfEntry(written: Readonly<Record<string, unknown>>): string {
  const { signIn: _, certificateAuthorityFile: __, certificateAuthorityData: ___, ...agreedOn } = written;
  return createHash("sha256").update(canonicalJson(agreedOn)).digest("hex").slice(0, 16);
}

function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const entries = Object.entries(value).filter(([, member]) => member !== undefined);
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`).join(",")}}`;
}
