import * as z from "zod";

/** A request to the function's URL as Lambda hands it over, as far as it is read; names of headers are in small letters. */
export const UrlRequest = z.object({
  rawPath: z.string(),
  headers: z.record(z.string(), z.string()).prefault({}),
  requestContext: z.object({ http: z.object({ method: z.string() }) }),
  body: z.string().optional(),
  isBase64Encoded: z.boolean().prefault(false),
});
export type UrlRequest = z.output<typeof UrlRequest>;

/** What Lambda makes an answer of. */
export interface UrlResponse {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The body as text. */
export function textOf({ body = "", isBase64Encoded }: UrlRequest): string {
  return isBase64Encoded ? Buffer.from(body, "base64").toString("utf8") : body;
}

/** JSON as an answer. */
export function respond(statusCode: number, value: unknown): UrlResponse {
  return { statusCode, headers: { "content-type": "application/json" }, body: JSON.stringify(value) };
}
