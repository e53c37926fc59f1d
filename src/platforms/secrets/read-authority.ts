import { readSecret } from "#platforms/secrets/read-secret.ts";

/**
 * Reads an authority's certificates from a file, as PEM; undefined if no file is named. Rejects if it is
 * unreadable or holds none.
 */
export async function readAuthority(file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined;
  const text = await readSecret({ file }, { clusterName: "" });
  if (text.includes("-----BEGIN CERTIFICATE-----")) return text;
  throw new Error(`${file} holds no certificate; put the authority's there, as PEM with BEGIN CERTIFICATE`);
}
