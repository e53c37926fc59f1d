import type { IncomingMessage } from "node:http";

/** A request's body as text; too large above the limit, broken off without an end. */
export type Body =
  | { readonly kind: "body"; readonly text: string }
  | { readonly kind: "too-large" }
  | { readonly kind: "broken-off" };

/** The maximum size of a request, in bytes. */
export const MAX_BODY_BYTES = 1024 * 1024;

/** Reads to the end; drops what exceeds the limit, so that the sender receives the answer. */
export async function readBody(request: IncomingMessage): Promise<Body> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request) {
      bytes += chunk.length;
      if (bytes <= MAX_BODY_BYTES) chunks.push(chunk);
    }
  } catch {
    return { kind: "broken-off" };
  }
  if (bytes > MAX_BODY_BYTES) return { kind: "too-large" };
  return { kind: "body", text: Buffer.concat(chunks).toString("utf8") };
}
