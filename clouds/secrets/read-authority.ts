import { readSecret } from "#clouds/secrets/read-secret.ts";

/** The certificates of an authority's file, as PEM; undefined where none is named. Rejects where it cannot be read or holds none. */
export async function readAuthority(file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined;
  const text = await readSecret({ file }, { clusterName: "" });
  if (text.includes("-----BEGIN CERTIFICATE-----")) return text;
  throw new Error(`${file} holds no certificate; put the authority's there, as PEM with BEGIN CERTIFICATE`);
}
