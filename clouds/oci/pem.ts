/** The private key in a text that holds it as PEM, be it all of it or a value of YAML; undefined where there is none. */
export function pemIn(text: string): string | undefined {
  const lines = text.replaceAll("\\n", "\n").split(/\r?\n/);
  const trimmed = lines.map((line) => line.replace(/^.*?(?=-----BEGIN )/, "").trim()).join("\n");
  return /-----BEGIN ([A-Z ]*PRIVATE KEY)-----\n[\s\S]*?\n-----END \1-----/.exec(trimmed)?.[0];
}

/** The passphrase in a text that is one, or in the line of a stock file that holds one; undefined where there is none. */
export function passphraseIn(text: string): string | undefined {
  const lines = text.split(/\r?\n/);
  const [only, ...others] = lines.filter((line) => line !== "");
  const named = lines.flatMap((line) => /^\s+(?:key_)?passphrase:\s+(.*?)\s*$/.exec(line)?.[1] ?? []);
  const [value] = named.filter((each) => each !== "" && each !== '""' && each !== "''");
  if (value === undefined) return others.length === 0 && named.length === 0 ? only : undefined;
  return unquoted(value);
}

/** A scalar of YAML on one line. */
function unquoted(value: string): string {
  if (/^'.*'$/.test(value)) return value.slice(1, -1).replaceAll("''", "'");
  if (!/^".*"$/.test(value)) return value.replace(/(?<!\s)\s+#.*$/s, "");
  try {
    return String(JSON.parse(value));
  } catch {
    return value.slice(1, -1);
  }
}
