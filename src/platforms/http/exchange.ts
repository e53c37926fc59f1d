import type { IncomingMessage, ServerResponse } from "node:http";
import {
  ERROR_STATUS,
  type ErrorBody,
  type ErrorCode,
  JSON_TYPE,
  MAX_REQUEST_BYTES,
} from "#platforms/http/protocol.ts";

/** Why a request is not served. */
export interface RequestError extends ErrorBody {
  readonly kind: "error";
  readonly code: ErrorCode;
}

/** The error of a body above the limit. */
export const TOO_LARGE: RequestError = {
  kind: "error",
  code: "TooLarge",
  message: `a body has at most ${MAX_REQUEST_BYTES} bytes`,
};

/**
 * Reads a body. One that is too large is dropped to its end, so that the caller reads the answer, but an endless one
 * costs its connection. Never rejects.
 */
export async function readBytes(request: IncomingMessage): Promise<Buffer | RequestError> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes <= MAX_REQUEST_BYTES) chunks.push(chunk);
      if (bytes > 2 * MAX_REQUEST_BYTES) break;
    }
  } catch {
    return { kind: "error", code: "RequestTimeout", message: "the body did not arrive" };
  }
  return bytes > MAX_REQUEST_BYTES ? TOO_LARGE : Buffer.concat(chunks);
}

/** Answers with an error. What is left of the request's body is dropped, so that the caller reads the answer. */
export function sendError(
  request: IncomingMessage,
  response: ServerResponse,
  code: ErrorCode,
  message: string,
): void {
  if (response.headersSent || response.destroyed) return;
  const body = JSON.stringify({ code, message });
  response.writeHead(ERROR_STATUS[code], { "content-type": JSON_TYPE, "cache-control": "no-store" });
  response.end(request.method === "HEAD" ? undefined : body);
}
