import { createReadStream } from "node:fs";

/** A file's text, of at most `maxBytes`; rejects with the system's error, or with code `EFBIG` where it is larger. */
export async function readSmallFile(file: string, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of createReadStream(file, { end: maxBytes }) as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
  }
  if (bytes <= maxBytes) return Buffer.concat(chunks).toString("utf8");
  throw Object.assign(new Error(`larger than ${maxBytes} bytes`), { code: "EFBIG" });
}
