import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { ClientRequest, IncomingMessage, ServerResponse } from "node:http";
import { type Exchange, type Headers, isPerhapsAws } from "./exchange.ts";

/** Receives each exchange that may be one of AWS's API, at its end. */
export type Observer = (exchange: Exchange) => void;

/**
 * Observes the HTTP of this process until the returned function is called. It observes what servers here receive
 * and answer, from any process. Of clients it observes only exchanges with moto, which is another process. Answers
 * that are cut off are not observed.
 */
export function observeHttp(observer: Observer): () => void {
  const channels: Readonly<Record<string, (message: never) => void>> = {
    "http.server.request.start": (message: ServerMessage) => observeServer(message, observer),
    "http.client.request.created": ({ request }: ClientMessage) => observeRequest(request),
    "http.client.response.finish": (message: ClientMessage) => observeResponse(message, observer),
    ...createFetchChannels(observer),
  };
  for (const [name, listener] of Object.entries(channels)) subscribe(name, listener as never);
  return () => {
    for (const [name, listener] of Object.entries(channels)) unsubscribe(name, listener as never);
  };
}

interface ServerMessage {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

interface ClientMessage {
  readonly request: ClientRequest;
  readonly response: IncomingMessage;
}

function observeServer({ request, response }: ServerMessage, observer: Observer): void {
  const { method = "GET", url: target = "/" } = request;
  const requestHeaders = toHeaders(request.headers);
  if (!isPerhapsAws(method, target, requestHeaders)) return;
  const requestChunks = collectPushed(request);
  const answerChunks: Buffer[] = [];
  let answerHeaders: Headers = {};
  // Not at "finish", which may come after the client has the whole answer and its test has ended.
  collectWritten(response, answerChunks, () =>
    observer({
      ...{ method, target, requestHeaders, requestBody: Buffer.concat(requestChunks) },
      status: response.statusCode,
      answerHeaders: { ...toHeaders(response.getHeaders()), ...answerHeaders },
      answerBody: Buffer.concat(answerChunks),
    }),
  );
  const writeHead = response.writeHead.bind(response) as (...args: readonly unknown[]) => ServerResponse;
  response.writeHead = ((...args: readonly unknown[]) => {
    // Headers that are given here are not among the response's own.
    const given = args.at(-1);
    if (typeof given === "object" && given !== null && !Array.isArray(given))
      answerHeaders = toHeaders(given);
    return writeHead(...args);
  }) as typeof response.writeHead;
}

const REQUEST_CHUNKS = new WeakMap<ClientRequest, Buffer[]>();

function observeRequest(request: ClientRequest): void {
  if (!isPerhapsAws(request.method, request.path, toHeaders(request.getHeaders()))) return;
  const chunks: Buffer[] = [];
  REQUEST_CHUNKS.set(request, chunks);
  collectWritten(request, chunks);
}

function observeResponse({ request, response }: ClientMessage, observer: Observer): void {
  const requestChunks = REQUEST_CHUNKS.get(request);
  const answerHeaders = toHeaders(response.headers);
  if (requestChunks === undefined || !isMoto(answerHeaders)) return;
  const chunks = collectPushed(response, () =>
    observer({
      method: request.method,
      target: request.path,
      requestHeaders: toHeaders(request.getHeaders()),
      requestBody: Buffer.concat(requestChunks),
      status: response.statusCode ?? 0,
      answerHeaders,
      answerBody: Buffer.concat(chunks),
    }),
  );
}

/** A request of `fetch`, as its channels describe it. */
interface FetchRequest {
  readonly method: string;
  readonly path: string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
}

interface FetchState {
  readonly requestChunks: Buffer[];
  readonly answerChunks: Buffer[];
  answerHeaders: Headers;
  status: number;
}

function createFetchChannels(observer: Observer): Readonly<Record<string, (message: never) => void>> {
  const states = new WeakMap<FetchRequest, FetchState>();
  interface Message {
    readonly request: FetchRequest;
    readonly chunk: Uint8Array;
    readonly response: { readonly statusCode: number; readonly headers: readonly Buffer[] };
  }
  return {
    "undici:request:create": ({ request }: Message) => {
      if (isPerhapsAws(request.method, request.path, toHeadersFromPairs(request.headers)))
        states.set(request, { requestChunks: [], answerChunks: [], answerHeaders: {}, status: 0 });
    },
    "undici:request:bodyChunkSent": ({ request, chunk }: Message) =>
      void states.get(request)?.requestChunks.push(Buffer.from(chunk)),
    "undici:request:headers": ({ request, response }: Message) => {
      const state = states.get(request);
      if (state === undefined) return;
      state.status = response.statusCode;
      state.answerHeaders = toHeadersFromPairs(response.headers);
    },
    "undici:request:bodyChunkReceived": ({ request, chunk }: Message) =>
      void states.get(request)?.answerChunks.push(Buffer.from(chunk)),
    "undici:request:trailers": ({ request }: Message) => {
      const state = states.get(request);
      if (state === undefined || !isMoto(state.answerHeaders)) return;
      observer({
        method: request.method,
        target: request.path,
        requestHeaders: toHeadersFromPairs(request.headers),
        requestBody: Buffer.concat(state.requestChunks),
        status: state.status,
        answerHeaders: state.answerHeaders,
        answerBody: Buffer.concat(state.answerChunks),
      });
    },
  };
}

/** Whether the answer is moto's own: the server of this process before it has another name, or none. */
function isMoto({ server }: Headers): boolean {
  return server?.startsWith("Werkzeug/") === true;
}

/** Collects what the parser pushes into a message, without reading it. */
function collectPushed(message: IncomingMessage, atEnd?: () => void): Buffer[] {
  const chunks: Buffer[] = [];
  const push = message.push.bind(message);
  message.push = (chunk: Buffer | null, encoding?: BufferEncoding) => {
    if (chunk !== null) chunks.push(Buffer.from(chunk));
    else atEnd?.();
    return push(chunk, encoding);
  };
  return chunks;
}

type Write = (...args: readonly unknown[]) => boolean;

/** Collects what is written to a message; `atEnd` is called when it is ended, unless it was cut off before. */
function collectWritten(message: ClientRequest | ServerResponse, chunks: Buffer[], atEnd?: () => void): void {
  const collect = (chunk: unknown, encoding: unknown): void => {
    if (typeof chunk === "string")
      chunks.push(Buffer.from(chunk, typeof encoding === "string" ? (encoding as BufferEncoding) : "utf8"));
    else if (chunk instanceof Uint8Array) chunks.push(Buffer.from(chunk));
  };
  // `end` of Node's messages does not call `write`.
  for (const name of ["write", "end"] as const) {
    const original = message[name].bind(message) as unknown as Write;
    Object.assign(message, {
      [name]: (...args: readonly unknown[]) => {
        const isOpen = !message.writableEnded && !message.destroyed;
        if (isOpen) collect(args[0], args[1]);
        const answer = original(...args);
        if (isOpen && name === "end") atEnd?.();
        return answer;
      },
    });
  }
}

function toHeaders(headers: object): Headers {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name.toLowerCase(), String(value)]],
    ),
  );
}

function toHeadersFromPairs(pairs: readonly (string | Buffer)[]): Headers {
  const headers: Record<string, string> = {};
  for (let index = 0; index + 1 < pairs.length; index += 2)
    headers[String(pairs[index]).toLowerCase()] = String(pairs[index + 1]);
  return headers;
}
