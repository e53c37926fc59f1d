import type { ClientHttp2Stream, IncomingHttpHeaders, IncomingHttpStatusHeader } from "node:http2";
import { systemCode } from "#kube/client/errors.ts";
import type { ApiResponse } from "#kube/client/transport.ts";

/** What became of one request on one connection. */
export type Exchange<Answer> =
  | { readonly kind: "answered"; readonly answer: Answer }
  | { readonly kind: "lost"; readonly cause: unknown }
  | { readonly kind: "too-large" };

/** Reads a whole answer, of at most `maxBytes`, those of what was compressed included. Never rejects. */
export function readAnswer(stream: ClientHttp2Stream, maxBytes: number): Promise<Exchange<ApiResponse>> {
  return new Promise((resolve) => {
    let head: AnswerHead | undefined;
    let failure: unknown;
    let ended = false;
    let bytes = 0;
    const chunks: Buffer[] = [];
    stream.once("response", (headers) => {
      head = headOf(headers);
    });
    stream.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxBytes) {
        resolve({ kind: "too-large" });
        stream.close(CANCEL);
      } else chunks.push(chunk);
    });
    stream.once("end", () => {
      ended = true;
    });
    stream.on("error", (error) => {
      failure ??= error;
    });
    stream.once("close", () => {
      // A reset by the server also ends the readable side; only the reset code tells it from a whole answer.
      if (head === undefined || !ended || !endedWell(stream)) resolve({ kind: "lost", cause: failure });
      else void decoded(head, chunks, maxBytes).then(resolve);
    });
  });
}

/** gzip's own pieces of 16 KiB make a page of megabytes slow. */
const GUNZIP_PIECE_BYTES = 256 * 1024;

async function decoded(
  head: AnswerHead,
  chunks: readonly Buffer[],
  maxBytes: number,
): Promise<Exchange<ApiResponse>> {
  const bytes = Buffer.concat(chunks);
  const answered = (body: Buffer): Exchange<ApiResponse> => ({
    kind: "answered",
    answer: { ...head, body: body.toString("utf8") },
  });
  if (head.headers["content-encoding"] !== "gzip" || bytes.length === 0) return answered(bytes);
  // Milliseconds at the start of every function, of which none lists.
  const { gunzip } = await import("node:zlib");
  return new Promise((resolve) => {
    gunzip(bytes, { maxOutputLength: maxBytes, chunkSize: GUNZIP_PIECE_BYTES }, (error, body) => {
      if (error === null) resolve(answered(body));
      else if (systemCode(error) === "ERR_BUFFER_TOO_LARGE") resolve({ kind: "too-large" });
      else resolve({ kind: "lost", cause: error });
    });
  });
}

/** Waits for the headers alone; the body stays unread. Never rejects. */
export function readHead(stream: ClientHttp2Stream): Promise<Exchange<AnswerHead>> {
  return new Promise((resolve) => {
    let failure: unknown;
    stream.on("error", (error) => {
      failure ??= error;
    });
    stream.once("response", (headers) => resolve({ kind: "answered", answer: headOf(headers) }));
    stream.once("close", () => resolve({ kind: "lost", cause: failure }));
  });
}

/** Whether the server ended the stream by itself, without a reset and without an error. */
export function endedWell(stream: ClientHttp2Stream): boolean {
  return (stream.rstCode ?? 0) === 0 && stream.errored === null;
}

/** RST_STREAM code CANCEL: the answer is not wanted any more. */
export const CANCEL = 8;

/** Status and headers of an answer. */
export type AnswerHead = Pick<ApiResponse, "status" | "headers">;

function headOf(headers: IncomingHttpHeaders & IncomingHttpStatusHeader): AnswerHead {
  const plain: Record<string, string | undefined> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (!name.startsWith(":")) plain[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  return { status: headers[":status"] ?? 0, headers: plain };
}
