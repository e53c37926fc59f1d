import type { ClientHttp2Stream, OutgoingHttpHeaders } from "node:http2";
import { type ClientCertificate, type Connection, openConnection } from "#kube/connection.ts";
import { createConnectionPool } from "#kube/connection-pool.ts";
import { ApiUnreachable, systemCode, type UnreachableCode } from "#kube/errors.ts";
import { type AnswerHead, CANCEL, type Exchange, endedWell, readAnswer, readHead } from "#kube/exchange.ts";
import { createSlots } from "#kube/slots.ts";
import { startTimeLimit, type TimeLimit } from "#kube/time-limit.ts";
import type { ApiRequest, ApiResponse, ApiStream, Authorization, Transport } from "#kube/transport.ts";

/** How to reach one API server; everything but `server` has a default. */
export interface ConnectOptions {
  /** Base URL, https. */
  readonly server: string;
  /** PEM; the system's authorities without it. */
  readonly certificateAuthority?: string | undefined;
  /** A value, or where to get it anew for each connection: certificates are rotated. */
  readonly clientCertificate?: ClientCertificate | (() => Promise<ClientCertificate>) | undefined;
  readonly authorization?: Authorization | undefined;
  readonly userAgent?: string;
  readonly connectTimeoutMs?: number;
  /** For requests that name none. */
  readonly requestTimeoutMs?: number;
  /** The largest body of an answer to `send`; a page of 500 nodes is 2–10 MB. */
  readonly maxBodyBytes?: number;
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

/** A client of one API server over one HTTP/2 connection, opened with the first request. The contract is `Transport`'s. */
export function connect(options: ConnectOptions): Transport {
  const settings = { ...DEFAULTS, ...options };
  const server = new URL(settings.server);
  const prefix = server.pathname.replace(/\/$/, "");
  const life = new AbortController();
  const pool = createConnectionPool(async () => {
    const clientCertificate = await certificateOf(settings, server.origin);
    return openConnection({ ...settings, server, clientCertificate }, life.signal);
  }, settings.maxIdleMs);
  let openBodies = 0;
  const limit = (): number =>
    Math.min(settings.maxInFlight, (pool.current()?.maxStreams() ?? settings.maxInFlight) - openBodies);
  const slots = createSlots(limit, settings.maxQueued);

  const failure = (request: ApiRequest, code: UnreachableCode, cause?: unknown): ApiUnreachable =>
    new ApiUnreachable({
      code: life.signal.aborted ? "Closed" : code,
      server: server.origin,
      attempt: `${request.method} ${request.path.split("?", 1)[0]}`,
      detail: systemCode(cause),
      cause,
    });

  /** One request, signed in; sent again once where the contract of `Transport` allows it. */
  async function attempt<Answer>(
    request: ApiRequest,
    time: TimeLimit,
    authorization: string | undefined,
    read: (stream: ClientHttp2Stream) => Promise<Exchange<Answer>>,
  ): Promise<{ readonly answer: Answer; readonly stream: ClientHttp2Stream }> {
    for (let last = false; ; last = true) {
      const connection = await unlessAborted(pool.get(), time.signal, () => failure(request, ended(time)));
      const stream = start(connection, request, authorization);
      const stop = (): void => stream?.close(CANCEL);
      time.signal.addEventListener("abort", stop, { once: true });
      const exchange: Exchange<Answer> =
        stream === undefined ? { kind: "lost", cause: undefined } : await read(stream);
      time.signal.removeEventListener("abort", stop);
      if (stream !== undefined && exchange.kind === "answered") return { answer: exchange.answer, stream };
      if (exchange.kind === "too-large") throw failure(request, "AnswerTooLarge");
      if (time.signal.aborted) throw failure(request, ended(time));
      const again = REPEATABLE.has(request.method) || stream === undefined || connection.untouched(stream);
      if (last || !again)
        throw failure(request, "ConnectionLost", exchange.kind === "lost" ? exchange.cause : undefined);
    }
  }

  function start(
    connection: Connection,
    request: ApiRequest,
    authorization: string | undefined,
  ): ClientHttp2Stream | undefined {
    const body = request.body === undefined ? undefined : Buffer.from(JSON.stringify(request.body), "utf8");
    const headers: OutgoingHttpHeaders = {
      ":method": request.method,
      ":path": prefix + request.path,
      accept: request.accept ?? "application/json",
      "user-agent": settings.userAgent,
    };
    if (authorization !== undefined) headers["authorization"] = authorization;
    if (body !== undefined) {
      headers["content-type"] = request.contentType ?? "application/json";
      headers["content-length"] = body.length;
    }
    try {
      const stream = connection.open(headers, body === undefined);
      // Errors reach the reader, which listens from the next line of its own on; never an uncaught one in between.
      stream.on("error", () => {});
      if (body !== undefined) stream.end(body);
      return stream;
    } catch (error) {
      if (connection.usable()) throw failure(request, "ConnectFailed", error);
      return undefined;
    }
  }

  /** Signs in, and once more with a fresh credential where the server refuses the first. */
  async function signedIn<Answer extends AnswerHead>(
    request: ApiRequest,
    time: TimeLimit,
    read: (stream: ClientHttp2Stream) => Promise<Exchange<Answer>>,
  ): Promise<{ readonly answer: Answer; readonly stream: ClientHttp2Stream }> {
    const credential = await authorize(request, time, false);
    const first = await attempt(request, time, credential, read);
    if (first.answer.status !== 401 || settings.authorization === undefined) return first;
    const fresh = await authorize(request, time, true);
    if (fresh === credential) return first;
    first.stream.close(CANCEL);
    return attempt(request, time, fresh, read);
  }

  async function authorize(
    request: ApiRequest,
    time: TimeLimit,
    fresh: boolean,
  ): Promise<string | undefined> {
    if (settings.authorization === undefined) return undefined;
    try {
      const asked = settings.authorization(time.signal, { fresh });
      const header = await unlessAborted(asked, time.signal, () => failure(request, ended(time)));
      // node:http2 would send a line break as it is.
      if (header === undefined || /^[\x20-\x7e]+$/.test(header)) return header;
    } catch (error) {
      throw error instanceof ApiUnreachable ? error : failure(request, "CredentialUnavailable", error);
    }
    throw failure(request, "CredentialUnavailable");
  }

  function limited(request: ApiRequest): TimeLimit {
    if (life.signal.aborted) throw failure(request, "Closed");
    return startTimeLimit(request.timeoutMs ?? settings.requestTimeoutMs, life.signal, request.signal);
  }

  return {
    async send(request: ApiRequest): Promise<ApiResponse> {
      const time = limited(request);
      try {
        const entered = await slots.enter(time.signal);
        if (entered === "full") throw failure(request, "QueueFull");
        if (entered === "aborted") throw failure(request, ended(time));
        try {
          const { answer } = await signedIn(request, time, (stream) =>
            readAnswer(stream, settings.maxBodyBytes),
          );
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
        const { answer, stream } = await signedIn(request, time, readHead);
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
        if (signal?.aborted) stop();
        signal?.addEventListener("abort", stop, { once: true });
        stream.once("close", () => signal?.removeEventListener("abort", stop));
        const cut = (cause?: unknown): ApiUnreachable =>
          failure(request, givenUp ? "Aborted" : "ConnectionLost", cause);
        return { ...answer, body: pieces(stream, cut), close: stop };
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
  maxInFlight: 128,
  maxQueued: 10_000,
  pingIntervalMs: 10_000,
  pingTimeoutMs: 5_000,
  maxIdleMs: 30_000,
  now: Date.now,
} satisfies Partial<ConnectOptions>;

/** Methods that may be sent twice: all our patches carry preconditions. */
const REPEATABLE: ReadonlySet<string> = new Set(["GET", "PATCH"]);

async function certificateOf(
  { clientCertificate }: ConnectOptions,
  server: string,
): Promise<ClientCertificate | undefined> {
  if (typeof clientCertificate !== "function") return clientCertificate;
  try {
    return await clientCertificate();
  } catch (cause) {
    throw new ApiUnreachable({ code: "CredentialUnavailable", server, attempt: "connect", cause });
  }
}

function ended(time: TimeLimit): UnreachableCode {
  return time.timedOut() ? "TimedOut" : "Aborted";
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

/** Waits for what others may be waiting for too, but no longer than the signal allows. */
function unlessAborted<Value>(
  promise: Promise<Value>,
  signal: AbortSignal,
  aborted: () => ApiUnreachable,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(aborted());
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
