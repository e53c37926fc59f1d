import { readFile, writeFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import { ZipFile } from "yazl";

// The earliest timestamp of a zip. In local time, as the format has no zone: the bytes are equal everywhere.
const MTIME = new Date(1980, 0, 1);

/** Writes a zip of files, named by their path in it; the same contents give the same bytes. Resolves to its size. */
export async function writeZip(file: string, contents: Readonly<Record<string, string>>): Promise<number> {
  const zip = new ZipFile();
  for (const path of Object.keys(contents).sort()) {
    const source = contents[path];
    if (source === undefined) continue;
    const options = { mtime: MTIME, mode: 0o100644, compressionLevel: 9, forceDosTimestamp: true };
    zip.addBuffer(await readFile(source), path, options);
  }
  zip.end();
  const bytes = await buffer(zip.outputStream);
  await writeFile(file, bytes);
  return bytes.length;
}
