import type { ClientHttp2Stream, IncomingHttpHeaders, IncomingHttpStatusHeader } from "node:http2";
import type { ApiResponse } from "#kube/client/transport.ts";

/** What became of one request on one connection. */
export type Exchange<Answer> =
  | { readonly kind: "answered"; readonly answer: Answer }
  | { readonly kind: "lost"; readonly cause: unknown }
  | { readonly kind: "too-large" };

/** Reads a whole answer, of at most `maxBytes`. Never rejects. */
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
      else resolve({ kind: "answered", answer: { ...head, body: Buffer.concat(chunks).toString("utf8") } });
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
