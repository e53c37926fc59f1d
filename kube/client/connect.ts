import type { ClientHttp2Stream } from "node:http2";
import { type Connection, openConnection, type TlsCredentials } from "#kube/client/connection.ts";
import { createConnectionPool } from "#kube/client/connection-pool.ts";
import { ApiUnreachable } from "#kube/client/errors.ts";
import { type AnswerBounds, CANCEL, endedWell, readAnswer, readHead } from "#kube/client/exchange.ts";
import { MAX_OBJECT_VALUES } from "#kube/client/json-values.ts";
import type { JudgeAddress } from "#kube/client/judged-lookup.ts";
import { createRenewal } from "#kube/client/renewal.ts";
import { createRequester, ended } from "#kube/client/requester.ts";
import { createSlots } from "#kube/client/slots.ts";
import { onSmallPieces } from "#kube/client/small-pieces.ts";
import { startTimeLimit, type TimeLimit } from "#kube/client/time-limit.ts";
import type { ApiRequest, ApiResponse, ApiStream, Authorization, Transport } from "#kube/client/transport.ts";

/** How to reach one API server; everything but `server` has a default. */
export interface ConnectOptions {
  /** Base URL, https. */
  readonly server: string;
  /** PEM, for as long as the transport lives; the system's authorities without it. */
  readonly certificateAuthority?: string | undefined;
  /** In place of a fixed authority: what connections are opened with, which is rotated. */
  readonly tls?: ReadTls | undefined;
  readonly authorization?: Authorization | undefined;
  readonly userAgent?: string;
  readonly connectTimeoutMs?: number;
  /** Which addresses may be connected to; any without it. */
  readonly judgeAddress?: JudgeAddress | undefined;
  /** For requests that name none. */
  readonly requestTimeoutMs?: number;
  /** The largest body of an answer at all; a page of 500 nodes is 2–10 MB. */
  readonly maxBodyBytes?: number;
  /** The largest body of an answer to a write that names no bound: metadata alone is asked for. */
  readonly maxWriteBodyBytes?: number;
  /** Requests of `send` in flight at a time; fewer where the server allows fewer streams. */
  readonly maxInFlight?: number;
  /** Requests waiting for their turn; one more is answered with `QueueFull`. */
  readonly maxQueued?: number;
  readonly pingIntervalMs?: number;
  readonly pingTimeoutMs?: number;
  /** A connection silent for so long with nothing open on it is replaced. */
  readonly maxIdleMs?: number;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

/**
 * Gets what a connection is opened with; asked anew for each one. `fresh` bypasses any cache: the server has refused what the last one
 * was opened with.
 */
export type ReadTls = (options?: { readonly fresh?: boolean }) => Promise<TlsCredentials>;

/** A client of one API server over one HTTP/2 connection, opened with the first request. The contract is `Transport`'s. */
export function connect(options: ConnectOptions): Transport {
  const settings = { ...DEFAULTS, ...options };
  const server = new URL(settings.server);
  const life = new AbortController();
  let refused = false;
  const renewAtMs = new WeakMap<Connection, number>();
  const pool = createConnectionPool(
    async () => {
      const credentials = await tlsOf(settings, server.origin, refused);
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
    // One goes in any case: a server may allow fewer streams than there are watches on it.
    Math.max(
      1,
      Math.min(settings.maxInFlight, (pool.current()?.maxStreams() ?? settings.maxInFlight) - openBodies),
    );
  const slots = createSlots(limit, settings.maxQueued);

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
        const entered = await slots.enter(time);
        if (entered === "full") throw failure(request, "QueueFull");
        if (entered === "aborted") throw failure(request, ended(time));
        try {
          const bounds = boundsOf(request, settings);
          const { answer } = await requester.ask(request, time, (stream) => readAnswer(stream, bounds));
          return answer;
        } finally {
          slots.leave();
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
        onSmallPieces(stream, () => {
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
          body: pieces(stream, cut),
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

/** Of an answer that may hold many. */
const MAX_VALUES = 5_000_000;

function boundsOf(
  { method, maxBytes, maxValues }: ApiRequest,
  settings: { readonly maxBodyBytes: number; readonly maxWriteBodyBytes: number },
): AnswerBounds {
  const own = method === "GET" ? settings.maxBodyBytes : settings.maxWriteBodyBytes;
  return {
    maxBytes: Math.min(maxBytes ?? own, settings.maxBodyBytes),
    maxValues: maxValues ?? (method === "GET" ? MAX_VALUES : MAX_OBJECT_VALUES),
  };
}

async function tlsOf(
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

/** The body, piece by piece; a body that was cut throws instead of ending. */
async function* pieces(
  stream: ClientHttp2Stream,
  lost: (cause?: unknown) => ApiUnreachable,
): AsyncGenerator<Uint8Array> {
  try {
    for await (const piece of stream) yield piece as Uint8Array;
  } catch (error) {
    throw lost(error);
  }
  // A reset right behind the end is only known once the stream has closed.
  if (!stream.destroyed) await new Promise((resolve) => stream.once("close", resolve));
  if (!endedWell(stream)) throw lost();
}
