import type { ClientHttp2Stream, IncomingHttpHeaders, IncomingHttpStatusHeader } from "node:http2";
import { createGatheredBytes, createSmallChunkCounter, freeChunks } from "#kube/client/byte-buffer.ts";
import type { Excess } from "#kube/client/errors.ts";
import { haveMoreValues } from "#kube/client/json-values.ts";
import type { ApiResponse } from "#kube/client/transport.ts";

/** The result of one request on one connection. */
export type Exchange<Answer> =
  | { readonly kind: "answered"; readonly answer: Answer }
  | { readonly kind: "lost"; readonly cause: unknown }
  | TooLarge;

interface TooLarge {
  readonly kind: "too-large";
  readonly excess: Excess;
}

/** The limits of a whole answer: bytes, both compressed and decompressed, and JSON values. */
export interface AnswerBounds {
  readonly maxBytes: number;
  readonly maxValues: number;
  /** Whether the body of a 200 stays in chunks. */
  readonly chunked: boolean;
}

/** Reads a whole answer within its limits. Never rejects. */
export function readAnswer(stream: ClientHttp2Stream, bounds: AnswerBounds): Promise<Exchange<ApiResponse>> {
  return new Promise((resolve) => {
    let head: AnswerHead | undefined;
    let failure: unknown;
    let ended = false;
    const body = createGatheredBytes();
    const isSmallPiece = createSmallChunkCounter();
    let over = false;
    const end = (excess: Excess): void => {
      over = true;
      resolve({ kind: "too-large", excess });
      stream.close(CANCEL);
      body.take();
    };
    const onData = (piece: Buffer): void => {
      if (over) return;
      if (body.length + piece.length > bounds.maxBytes) end("bytes");
      else if (isSmallPiece(piece.length)) end("pieces");
      else body.add(piece);
    };
    stream.once("response", (headers) => {
      head = toAnswerHead(headers);
    });
    stream.on("data", onData);
    stream.once("end", () => {
      ended = true;
    });
    stream.on("error", (error) => {
      failure ??= error;
    });
    stream.once("close", () => {
      // A reset by the server also ends the readable side; only the reset code distinguishes it from a whole
      // answer.
      if (head === undefined || !ended || !isCleanEnd(stream)) resolve({ kind: "lost", cause: failure });
      else void decodeAnswer(head, body.takeChunks(), bounds).then(resolve);
    });
  });
}

async function decodeAnswer(
  head: AnswerHead,
  received: readonly Buffer<ArrayBuffer>[],
  { maxBytes, maxValues, chunked }: AnswerBounds,
): Promise<Exchange<ApiResponse>> {
  let chunks = received;
  if (head.headers["content-encoding"] === "gzip" && received.some(({ length }) => length > 0)) {
    const decompressed = await decompress(received, maxBytes);
    if (decompressed.kind !== "decompressed") return decompressed;
    chunks = decompressed.chunks;
  }
  if (haveMoreValues(chunks, maxValues)) return { kind: "too-large", excess: "values" };
  if (chunked && head.status === 200) return { kind: "answered", answer: { ...head, body: "", chunks } };
  const [first = Buffer.alloc(0), ...others] = chunks;
  const body = others.length === 0 ? first : Buffer.concat(chunks);
  return { kind: "answered", answer: { ...head, body: body.toString("utf8") } };
}

/** gzip's default chunks of 16 KiB make pages of megabytes slow. */
const GUNZIP_CHUNK_BYTES = 256 * 1024;

async function decompress(
  compressed: readonly Buffer<ArrayBuffer>[],
  maxBytes: number,
): Promise<
  Exchange<never> | { readonly kind: "decompressed"; readonly chunks: readonly Buffer<ArrayBuffer>[] }
> {
  // Loading it takes milliseconds at the start of every function, and functions rarely list.
  const { createGunzip } = await import("node:zlib");
  return new Promise((resolve) => {
    const chunks: Buffer<ArrayBuffer>[] = [];
    let bytes = 0;
    const gunzip = createGunzip({ chunkSize: GUNZIP_CHUNK_BYTES });
    gunzip.on("data", (chunk: Buffer<ArrayBuffer>) => {
      bytes += chunk.length;
      chunks.push(chunk);
      if (bytes <= maxBytes) return;
      resolve({ kind: "too-large", excess: "bytes" });
      chunks.length = 0;
      gunzip.destroy();
    });
    gunzip.once("error", (cause) => resolve({ kind: "lost", cause }));
    gunzip.once("end", () => {
      freeChunks(compressed);
      resolve({ kind: "decompressed", chunks });
    });
    for (const chunk of compressed) gunzip.write(chunk);
    gunzip.end();
  });
}

/** Waits for the headers alone; the body stays unread. Never rejects. */
export function readHead(stream: ClientHttp2Stream): Promise<Exchange<AnswerHead>> {
  return new Promise((resolve) => {
    let failure: unknown;
    stream.on("error", (error) => {
      failure ??= error;
    });
    stream.once("response", (headers) => resolve({ kind: "answered", answer: toAnswerHead(headers) }));
    stream.once("close", () => resolve({ kind: "lost", cause: failure }));
  });
}

/** Whether the server ended the stream by itself, without a reset and without an error. */
export function isCleanEnd(stream: ClientHttp2Stream): boolean {
  return (stream.rstCode ?? 0) === 0 && stream.errored === null;
}

/** RST_STREAM code CANCEL: the client no longer wants the answer. */
export const CANCEL = 8;

/** Status and headers of an answer. */
export type AnswerHead = Pick<ApiResponse, "status" | "headers">;

function toAnswerHead(headers: IncomingHttpHeaders & IncomingHttpStatusHeader): AnswerHead {
  const plain: Record<string, string | undefined> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (!name.startsWith(":")) plain[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  return { status: headers[":status"] ?? 0, headers: plain };
}
