import type { IncomingMessage } from "node:http";

/** Reads the body of a request; undefined without a body, or if it is not JSON. */
export async function readBody(incoming: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString("utf8");
  try {
    return text === "" ? undefined : JSON.parse(text, keepDigits as (key: string, value: unknown) => unknown);
  } catch {
    return undefined;
  }
}

/** A number beyond a double becomes a bigint: a text of digits is something else. */
function keepDigits(_key: string, value: unknown, { source = "" }: { readonly source?: string }): unknown {
  return typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(source)
    ? BigInt(source)
    : value;
}
