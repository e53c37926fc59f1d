import type { ClientHttp2Stream, OutgoingHttpHeaders } from "node:http2";
import type { Connection } from "#kube/client/connection.ts";
import type { ConnectionPool } from "#kube/client/connection-pool.ts";
import { ApiUnreachable, type Excess, getSystemCode, type UnreachableCode } from "#kube/client/errors.ts";
import { type AnswerHead, CANCEL, type Exchange } from "#kube/client/exchange.ts";
import type { TimeLimit } from "#kube/client/time-limit.ts";
import type { ApiRequest, Authorization } from "#kube/client/transport.ts";

/** The shared state of requests. */
export interface RequesterContext {
  readonly server: URL;
  readonly pool: ConnectionPool;
  readonly renewal: Renewal;
  readonly authorization: Authorization | undefined;
  readonly userAgent: string;
  /** Aborted when the transport's owner closes it. */
  readonly closing: AbortSignal;
}

/** Reads what the caller needs from a stream. */
export type ReadStream<Answer> = (stream: ClientHttp2Stream) => Promise<Exchange<Answer>>;

/** An answer and its stream. */
export interface ReceivedAnswer<Answer> {
  readonly answer: Answer;
  readonly stream: ClientHttp2Stream;
  readonly connection: Connection;
}

/**
 * Sends single requests: signed in, within their timeout, and repeated where the contract of `Transport`
 * allows it.
 */
export interface Requester {
  /** Rejects with `ApiUnreachable`. */
  ask<Answer extends AnswerHead>(
    request: ApiRequest,
    time: TimeLimit,
    read: ReadStream<Answer>,
  ): Promise<ReceivedAnswer<Answer>>;
  /** Returns the error for a request without an answer. */
  failure(request: ApiRequest, code: UnreachableCode, cause?: unknown): ApiUnreachable;
  /** Returns the error for an answer that is too large. */
  tooLarge(request: ApiRequest, excess: Excess): ApiUnreachable;
}

/** Creates a requester over the connections of a pool. */
export function createRequester(context: RequesterContext): Requester {
  const about = (request: ApiRequest) => ({
    server: context.server.origin,
    attempt: `${request.method} ${request.path.split("?", 1)[0]}`,
  });
  const failure = (request: ApiRequest, code: UnreachableCode, cause?: unknown): ApiUnreachable =>
    new ApiUnreachable({
      ...about(request),
      code: context.closing.aborted ? "Closed" : code,
      detail: getSystemCode(cause),
      cause,
    });
  const tooLarge = (request: ApiRequest, excess: Excess): ApiUnreachable =>
    new ApiUnreachable({ ...about(request), code: "AnswerTooLarge", excess });

  /** Sends one signed-in request, and repeats it once if the contract of `Transport` allows it. */
  async function attempt<Answer>(
    request: ApiRequest,
    time: TimeLimit,
    authorization: string | undefined,
    read: ReadStream<Answer>,
  ): Promise<ReceivedAnswer<Answer>> {
    for (let last = false; ; last = true) {
      const connection =
        context.pool.ready() ??
        (await waitWithin(context.pool.get(), time, () => failure(request, getEndedLimit(time))));
      const stream = start(connection, request, authorization, context);
      const release = time.onReached(() => stream?.close(CANCEL));
      const exchange: Exchange<Answer> =
        stream === undefined ? { kind: "lost", cause: undefined } : await read(stream);
      release();
      if (stream !== undefined && exchange.kind === "answered") {
        return { answer: exchange.answer, stream, connection };
      }
      if (exchange.kind === "too-large") {
        // Such a server continues to send after a reset.
        if (exchange.excess === "pieces") void connection.destroy();
        throw tooLarge(request, exchange.excess);
      }
      if (time.reached()) throw failure(request, getEndedLimit(time));
      const again = REPEATABLE.has(request.method) || stream === undefined || connection.untouched(stream);
      if (last || !again)
        throw failure(request, "ConnectionLost", exchange.kind === "lost" ? exchange.cause : undefined);
    }
  }

  /**
   * Signs in. If the server rejects the credentials, signs in once more with reread ones on a new connection.
   */
  async function ask<Answer extends AnswerHead>(
    request: ApiRequest,
    time: TimeLimit,
    read: ReadStream<Answer>,
  ): Promise<ReceivedAnswer<Answer>> {
    const used = context.renewal.current();
    const header = await authorize(request, time, () => context.authorization?.(context.closing));
    const first = await attempt(request, time, header, read);
    const renewed = first.answer.status === 401 ? context.renewal.after(used) : undefined;
    if (renewed === undefined) return first;
    first.stream.close(CANCEL);
    return attempt(request, time, await authorize(request, time, () => renewed), read);
  }

  async function authorize(
    request: ApiRequest,
    time: TimeLimit,
    ask: () => Promise<string | undefined> | undefined,
  ): Promise<string | undefined> {
    try {
      const asked = ask();
      if (asked === undefined) return undefined;
      const header = await waitWithin(asked, time, () => failure(request, getEndedLimit(time)));
      if (header === undefined) return undefined;
      // node:http2 would send a line break unescaped.
      if (/^[\x20-\x7e]+$/.test(header)) return header;
    } catch (error) {
      throw error instanceof ApiUnreachable ? error : failure(request, "CredentialUnavailable", error);
    }
    throw failure(request, "CredentialUnavailable");
  }

  return { ask, failure, tooLarge };
}

/** Methods that may be repeated: all our patches carry preconditions. */
const REPEATABLE: ReadonlySet<string> = new Set(["GET", "PATCH"]);

/** Starts a request on a connection; undefined if the connection was lost. */
function start(
  connection: Connection,
  request: ApiRequest,
  authorization: string | undefined,
  context: RequesterContext,
): ClientHttp2Stream | undefined {
  const body = request.body === undefined ? undefined : Buffer.from(JSON.stringify(request.body), "utf8");
  const headers: OutgoingHttpHeaders = {
    ":method": request.method,
    ":path": context.server.pathname.replace(/\/$/, "") + request.path,
    accept: request.accept ?? "application/json",
    "user-agent": context.userAgent,
  };
  if (authorization !== undefined) headers["authorization"] = authorization;
  if (request.actAs !== undefined) headers["impersonate-user"] = request.actAs;
  if (request.compressed === true) headers["accept-encoding"] = "gzip";
  if (body !== undefined) {
    headers["content-type"] = request.contentType ?? "application/json";
    headers["content-length"] = body.length;
  }
  try {
    const stream = connection.open(headers, body === undefined);
    // The reader listens only from its next statement on; until then this prevents an uncaught error.
    stream.on("error", () => {});
    if (body !== undefined) stream.end(body);
    return stream;
  } catch (error) {
    if (!getSystemCode(error)?.startsWith("ERR_HTTP2_")) throw error;
    // The connection was closed, or has used all its stream numbers.
    connection.retire();
    return undefined;
  }
}

/** Returns which of the two time limits was reached. */
export function getEndedLimit(time: TimeLimit): UnreachableCode {
  return time.timedOut() ? "TimedOut" : "Aborted";
}

/** Waits for a shared result, but at most for the time limit. */
function waitWithin<Value>(
  promise: Promise<Value>,
  time: TimeLimit,
  reached: () => ApiUnreachable,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const release = time.onReached(() => reject(reached()));
    promise.then(
      (value) => {
        release();
        resolve(value);
      },
      (error: unknown) => {
        release();
        reject(error);
      },
    );
  });
}

/** Rereads the credentials after the server rejected them (401): once for all requests rejected together. */
interface Renewal {
  /** The number of the current credentials; note it before a request signs in. */
  current(): number;
  /**
   * Returns the credentials that replace the rejected ones of that number, with a header if there is one.
   * Undefined if they were reread only a moment ago: the rejection is then final.
   */
  after(refused: number): Promise<string | undefined> | undefined;
}

/** The options of rereading credentials. */
interface RenewalOptions {
  readonly authorization: Authorization | undefined;
  /**
   * Called on renewal: existing connections use the rejected credentials, so the next requests need a new
   * one.
   */
  readonly onRenew: () => void;
  /** Aborted when no request waits any more. */
  readonly closing: AbortSignal;
  readonly now: () => number;
}

/**
 * Interval of new connections and credential reads against a server that always rejects, for any number of
 * requests.
 */
const RENEW_INTERVAL_MS = 5_000;

/** Creates the renewal of a transport's credentials. */
export function createRenewal(options: RenewalOptions): Renewal {
  const { authorization, closing, now } = options;
  let current = 0;
  let renewedAt = Number.NEGATIVE_INFINITY;
  let header: Promise<string | undefined> | undefined;

  return {
    current: () => current,
    after(refused) {
      // Another request with the same credentials was rejected and has already renewed them.
      if (refused !== current) return header;
      const elapsedMs = now() - renewedAt;
      // A clock that was set back must not hold renewals back.
      if (elapsedMs >= 0 && elapsedMs < RENEW_INTERVAL_MS) return undefined;
      current += 1;
      renewedAt = now();
      header = Promise.resolve(authorization?.(closing, { fresh: true }));
      options.onRenew();
      return header;
    },
  };
}
