import { readSecret } from "#clouds/secrets/read-secret.ts";

/** The certificates of a file, as PEM; undefined where none is configured. Rejects where it cannot be read or holds none. */
export async function readCa(file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined;
  const text = await readSecret({ file }, { clusterName: "" });
  if (text.includes("-----BEGIN CERTIFICATE-----")) return text;
  throw new Error(`ca-file ${file} holds no certificate; put there PEM, with BEGIN CERTIFICATE`);
}
