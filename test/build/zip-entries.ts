/** A file in a zip, from the archive's own directory. */
export interface ZipEntry {
  readonly name: string;
  readonly bytes: number;
  /** The MS-DOS date and time, unparsed. */
  readonly time: number;
}

const END_SIGNATURE = 0x06054b50;
const END_BYTES = 22;
const ENTRY_SIGNATURE = 0x02014b50;
const ENTRY_BYTES = 46;

/** Reads the central directory of a zip without a comment and below 4 GB. */
export function readZipEntries(zip: Buffer): ZipEntry[] {
  const end = zip.length - END_BYTES;
  if (zip.readUInt32LE(end) !== END_SIGNATURE) throw new Error("not a zip, or one with a comment");
  const entries: ZipEntry[] = [];
  let at = zip.readUInt32LE(end + 16);
  while (zip.readUInt32LE(at) === ENTRY_SIGNATURE) {
    const nameEnd = at + ENTRY_BYTES + zip.readUInt16LE(at + 28);
    const name = zip.toString("utf8", at + ENTRY_BYTES, nameEnd);
    entries.push({ name, bytes: zip.readUInt32LE(at + 24), time: zip.readUInt32LE(at + 12) });
    at = nameEnd + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32);
  }
  return entries;
}
