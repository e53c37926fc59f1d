import type { ClientHttp2Stream } from "node:http2";
import { watchSmallChunks } from "#kube/client/byte-buffer.ts";
import { type Connection, openConnection, type TlsCredentials } from "#kube/client/connection.ts";
import { createConnectionPool } from "#kube/client/connection-pool.ts";
import { ApiUnreachable } from "#kube/client/errors.ts";
import { type AnswerBounds, CANCEL, isCleanEnd, readAnswer, readHead } from "#kube/client/exchange.ts";
import { MAX_OBJECT_VALUES } from "#kube/client/json-values.ts";
import type { JudgeAddress } from "#kube/client/judged-lookup.ts";
import { createRenewal, createRequester, getEndedLimit } from "#kube/client/requester.ts";
import { createSemaphore } from "#kube/client/semaphore.ts";
import { startTimeLimit, type TimeLimit } from "#kube/client/time-limit.ts";
import type { ApiRequest, ApiResponse, ApiStream, Authorization, Transport } from "#kube/client/transport.ts";

/** The options of a connection to one API server; all but `server` have a default. */
export interface ConnectOptions {
  /** Base URL, https. */
  readonly server: string;
  /** PEM, for the life of the transport. Default: the system's authorities. */
  readonly certificateAuthority?: string | undefined;
  /** Replaces the fixed authority: reads the rotated credentials of each connection. */
  readonly tls?: ReadTls | undefined;
  readonly authorization?: Authorization | undefined;
  readonly userAgent?: string;
  readonly connectTimeoutMs?: number;
  /** The addresses that may be connected to. Default: any. */
  readonly judgeAddress?: JudgeAddress | undefined;
  /** Default timeout of requests. */
  readonly requestTimeoutMs?: number;
  /** Largest body of any answer; a page of 500 nodes has 2–10 MB. */
  readonly maxBodyBytes?: number;
  /** Default largest body of an answer to a write, which returns only metadata. */
  readonly maxWriteBodyBytes?: number;
  /** Requests of `send` in flight at a time; fewer if the server allows fewer streams. */
  readonly maxInFlight?: number;
  /** Requests waiting for a permit; a further one fails with `QueueFull`. */
  readonly maxQueued?: number;
  readonly pingIntervalMs?: number;
  readonly pingTimeoutMs?: number;
  /** An idle connection without open streams is replaced after this time. */
  readonly maxIdleMs?: number;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

/**
 * Reads the credentials of each new connection. `fresh` bypasses any cache, because the server rejected the
 * last ones.
 */
export type ReadTls = (options?: { readonly fresh?: boolean }) => Promise<TlsCredentials>;

/**
 * Creates a client of one API server over one HTTP/2 connection, opened at the first request. `Transport` is
 * its contract.
 */
export function connect(options: ConnectOptions): Transport {
  const settings = { ...DEFAULTS, ...options };
  const server = new URL(settings.server);
  const life = new AbortController();
  let refused = false;
  const renewAtMs = new WeakMap<Connection, number>();
  const pool = createConnectionPool(
    async () => {
      const credentials = await readTlsCredentials(settings, server.origin, refused);
      refused = false;
      const connection = await openConnection({ ...settings, ...credentials, server }, life.signal);
      if (credentials.renewAtMs !== undefined) renewAtMs.set(connection, credentials.renewAtMs);
      return connection;
    },
    settings.maxIdleMs,
    (connection) => settings.now() >= (renewAtMs.get(connection) ?? Number.POSITIVE_INFINITY),
  );
  const renewal = createRenewal({
    authorization: settings.authorization,
    onRenew() {
      refused = true;
      pool.retire();
    },
    closing: life.signal,
    now: settings.now,
  });
  let openBodies = 0;
  const limit = (): number =>
    // At least one request is allowed: a server may allow fewer streams than it has watches.
    Math.max(
      1,
      Math.min(settings.maxInFlight, (pool.current()?.maxStreams() ?? settings.maxInFlight) - openBodies),
    );
  const semaphore = createSemaphore(limit, settings.maxQueued);

  const requester = createRequester({
    server,
    pool,
    renewal,
    authorization: settings.authorization,
    userAgent: settings.userAgent,
    closing: life.signal,
  });
  const { failure } = requester;

  function limited(request: ApiRequest): TimeLimit {
    if (life.signal.aborted) throw failure(request, "Closed");
    return startTimeLimit(request.timeoutMs ?? settings.requestTimeoutMs, life.signal, request.signal);
  }

  return {
    async send(request: ApiRequest): Promise<ApiResponse> {
      const time = limited(request);
      try {
        const entered = await semaphore.acquire(time);
        if (entered === "full") throw failure(request, "QueueFull");
        if (entered === "aborted") throw failure(request, getEndedLimit(time));
        try {
          const bounds = selectBounds(request, settings);
          const { answer } = await requester.ask(request, time, (stream) => readAnswer(stream, bounds));
          return answer;
        } finally {
          semaphore.release();
        }
      } finally {
        time.end();
      }
    },

    async stream(request: ApiRequest): Promise<ApiStream> {
      const time = limited(request);
      try {
        const { answer, stream, connection } = await requester.ask(request, time, readHead);
        openBodies += 1;
        stream.once("close", () => {
          openBodies -= 1;
        });
        const signal = request.signal;
        let givenUp = false;
        const stop = (): void => {
          givenUp = true;
          stream.close(CANCEL);
        };
        const end = (): void => {
          stop();
          void connection.destroy();
        };
        let areSmall = false;
        watchSmallChunks(stream, () => {
          areSmall = true;
          end();
        });
        if (signal?.aborted) stop();
        signal?.addEventListener("abort", stop, { once: true });
        stream.once("close", () => signal?.removeEventListener("abort", stop));
        const cut = (cause?: unknown): ApiUnreachable =>
          areSmall
            ? requester.tooLarge(request, "pieces")
            : failure(request, givenUp ? "Aborted" : "ConnectionLost", cause);
        return {
          ...answer,
          body: readChunks(stream, cut),
          connection,
          close: (options) => (options?.connection === true ? end() : stop()),
        };
      } finally {
        time.end();
      }
    },

    async close(): Promise<void> {
      life.abort();
      await pool.close();
    },
  };
}

const DEFAULTS = {
  userAgent: "serverless-ccm",
  connectTimeoutMs: 5_000,
  requestTimeoutMs: 10_000,
  maxBodyBytes: 64 * 1024 * 1024,
  maxWriteBodyBytes: 2 * 1024 * 1024,
  maxInFlight: 128,
  maxQueued: 10_000,
  pingIntervalMs: 10_000,
  pingTimeoutMs: 5_000,
  maxIdleMs: 30_000,
  now: Date.now,
} satisfies Partial<ConnectOptions>;

/** For an answer that may hold many objects. */
const MAX_VALUES = 5_000_000;

function selectBounds(
  { method, maxBytes, maxValues, chunked = false }: ApiRequest,
  settings: { readonly maxBodyBytes: number; readonly maxWriteBodyBytes: number },
): AnswerBounds {
  const own = method === "GET" ? settings.maxBodyBytes : settings.maxWriteBodyBytes;
  return {
    maxBytes: Math.min(maxBytes ?? own, settings.maxBodyBytes),
    maxValues: maxValues ?? (method === "GET" ? MAX_VALUES : MAX_OBJECT_VALUES),
    chunked,
  };
}

async function readTlsCredentials(
  { certificateAuthority, tls }: ConnectOptions,
  server: string,
  fresh: boolean,
): Promise<TlsCredentials> {
  if (tls === undefined) return { certificateAuthority };
  try {
    return await tls({ fresh });
  } catch (cause) {
    throw new ApiUnreachable({ code: "CredentialUnavailable", server, attempt: "connect", cause });
  }
}

/** Yields the body in chunks; throws if the body was cut off. */
async function* readChunks(
  stream: ClientHttp2Stream,
  lost: (cause?: unknown) => ApiUnreachable,
): AsyncGenerator<Uint8Array> {
  try {
    for await (const piece of stream) yield piece as Uint8Array;
  } catch (error) {
    throw lost(error);
  }
  // A reset directly after the end is visible only after the stream has closed.
  if (!stream.destroyed) await new Promise((resolve) => stream.once("close", resolve));
  if (!isCleanEnd(stream)) throw lost();
}
