/**
 * Finds the private key in a text with PEM, as the whole text or as a value of YAML; undefined without one.
 */
export function findPem(text: string): string | undefined {
  const lines = text.replaceAll("\\n", "\n").split(/\r?\n/);
  const trimmed = lines.map((line) => line.replace(/^.*?(?=-----BEGIN )/, "").trim()).join("\n");
  return /-----BEGIN ([A-Z ]*PRIVATE KEY)-----\n[\s\S]*?\n-----END \1-----/.exec(trimmed)?.[0];
}

/**
 * Finds the passphrase in a text, as the whole text or in its line of a stock file; undefined without one.
 */
export function findPassphrase(text: string): string | undefined {
  const lines = text.split(/\r?\n/);
  const [line, ...others] = lines.filter((line) => line !== "");
  const passphrases = lines.flatMap((line) => /^\s+(?:key_)?passphrase:\s+(.*?)\s*$/.exec(line)?.[1] ?? []);
  const [value] = passphrases.filter((each) => each !== "" && each !== '""' && each !== "''");
  if (value === undefined) return others.length === 0 && passphrases.length === 0 ? line : undefined;
  return unquote(value);
}

/** Parses a one-line YAML scalar. */
function unquote(value: string): string {
  if (/^'.*'$/.test(value)) return value.slice(1, -1).replaceAll("''", "'");
  if (!/^".*"$/.test(value)) return value.replace(/(?<!\s)\s+#.*$/s, "");
  try {
    return String(JSON.parse(value));
  } catch {
    return value.slice(1, -1);
  }
}
