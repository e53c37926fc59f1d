import type { IncomingMessage } from "node:http";

/** The body of a request; undefined where there is none, or none that is JSON. */
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

/** What a double cannot hold comes as a bigint: texts of digits are another thing. */
function keepDigits(_key: string, value: unknown, { source = "" }: { readonly source?: string }): unknown {
  return typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(source)
    ? BigInt(source)
    : value;
}
