import { readFile } from "node:fs/promises";

/** The PEM of a certificate authority's file, read once; undefined where none is named. Rejects with what is wrong with the file. */
export async function readAuthority(file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined;
  const text = await readFile(file, "utf8").catch((cause: NodeJS.ErrnoException) => {
    const detail = cause.code ?? "unknown error";
    const todo = "see that it is there and that this process may read it";
    throw new Error(`the caFile ${file} cannot be read (${detail}); ${todo}`, { cause });
  });
  if (!text.includes("-----BEGIN CERTIFICATE-----"))
    throw new Error(`the caFile ${file} holds no certificate; put the authority's there, in PEM`);
  return text;
}
