import * as z from "zod";

/** The fields read from a Lambda function URL request; header names are in lower case. */
export const UrlRequest = z.object({
  rawPath: z.string(),
  headers: z.record(z.string(), z.string()).prefault({}),
  requestContext: z.object({ http: z.object({ method: z.string() }) }),
  body: z.string().optional(),
  isBase64Encoded: z.boolean().prefault(false),
});
export type UrlRequest = z.output<typeof UrlRequest>;

/** The response that Lambda sends. */
export interface UrlResponse {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Decodes the body to text. */
export function decodeBody({ body = "", isBase64Encoded }: UrlRequest): string {
  return isBase64Encoded ? Buffer.from(body, "base64").toString("utf8") : body;
}

/** Returns a JSON response. */
export function respond(
  statusCode: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): UrlResponse {
  return {
    statusCode,
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(value),
  };
}
