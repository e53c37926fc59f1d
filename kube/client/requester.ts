import type { ClientHttp2Stream, OutgoingHttpHeaders } from "node:http2";
import type { Connection } from "#kube/client/connection.ts";
import type { ConnectionPool } from "#kube/client/connection-pool.ts";
import { ApiUnreachable, type Excess, systemCode, type UnreachableCode } from "#kube/client/errors.ts";
import { type AnswerHead, CANCEL, type Exchange } from "#kube/client/exchange.ts";
import type { Renewal } from "#kube/client/renewal.ts";
import type { TimeLimit } from "#kube/client/time-limit.ts";
import type { ApiRequest, Authorization } from "#kube/client/transport.ts";

/** What requests are sent with. */
export interface RequesterContext {
  readonly server: URL;
  readonly pool: ConnectionPool;
  readonly renewal: Renewal;
  readonly authorization: Authorization | undefined;
  readonly userAgent: string;
  /** Aborted when the transport's owner closes it. */
  readonly closing: AbortSignal;
}

/** Reads of a stream what the caller wants of it. */
export type ReadStream<Answer> = (stream: ClientHttp2Stream) => Promise<Exchange<Answer>>;

/** An answer, and the stream that it came on. */
export interface Answered<Answer> {
  readonly answer: Answer;
  readonly stream: ClientHttp2Stream;
  readonly connection: Connection;
}

/** Sends single requests: signed in, within their time, again where the contract of `Transport` allows it. */
export interface Requester {
  /** Rejects with `ApiUnreachable`. */
  ask<Answer extends AnswerHead>(
    request: ApiRequest,
    time: TimeLimit,
    read: ReadStream<Answer>,
  ): Promise<Answered<Answer>>;
  /** The error for a request that got no answer. */
  failure(request: ApiRequest, code: UnreachableCode, cause?: unknown): ApiUnreachable;
  /** The error for an answer that is too large. */
  tooLarge(request: ApiRequest, excess: Excess): ApiUnreachable;
}

/** Makes a requester over the connections of a pool. */
export function createRequester(context: RequesterContext): Requester {
  const about = (request: ApiRequest) => ({
    server: context.server.origin,
    attempt: `${request.method} ${request.path.split("?", 1)[0]}`,
  });
  const failure = (request: ApiRequest, code: UnreachableCode, cause?: unknown): ApiUnreachable =>
    new ApiUnreachable({
      ...about(request),
      code: context.closing.aborted ? "Closed" : code,
      detail: systemCode(cause),
      cause,
    });
  const tooLarge = (request: ApiRequest, excess: Excess): ApiUnreachable =>
    new ApiUnreachable({ ...about(request), code: "AnswerTooLarge", excess });

  /** One request, signed in; sent again once where the contract of `Transport` allows it. */
  async function attempt<Answer>(
    request: ApiRequest,
    time: TimeLimit,
    authorization: string | undefined,
    read: ReadStream<Answer>,
  ): Promise<Answered<Answer>> {
    for (let last = false; ; last = true) {
      const connection =
        context.pool.ready() ??
        (await unlessReached(context.pool.get(), time, () => failure(request, ended(time))));
      const stream = start(connection, request, authorization, context);
      const release = time.onReached(() => stream?.close(CANCEL));
      const exchange: Exchange<Answer> =
        stream === undefined ? { kind: "lost", cause: undefined } : await read(stream);
      release();
      if (stream !== undefined && exchange.kind === "answered") {
        return { answer: exchange.answer, stream, connection };
      }
      if (exchange.kind === "too-large") {
        // Whoever sends like that goes on after a reset.
        if (exchange.excess === "pieces") void connection.destroy();
        throw tooLarge(request, exchange.excess);
      }
      if (time.reached()) throw failure(request, ended(time));
      const again = REPEATABLE.has(request.method) || stream === undefined || connection.untouched(stream);
      if (last || !again)
        throw failure(request, "ConnectionLost", exchange.kind === "lost" ? exchange.cause : undefined);
    }
  }

  /** Signs in, and once more with what was read anew, on a new connection, where the server refuses the first. */
  async function ask<Answer extends AnswerHead>(
    request: ApiRequest,
    time: TimeLimit,
    read: ReadStream<Answer>,
  ): Promise<Answered<Answer>> {
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
      const header = await unlessReached(asked, time, () => failure(request, ended(time)));
      if (header === undefined) return undefined;
      // node:http2 would send a line break as it is.
      if (/^[\x20-\x7e]+$/.test(header)) return header;
    } catch (error) {
      throw error instanceof ApiUnreachable ? error : failure(request, "CredentialUnavailable", error);
    }
    throw failure(request, "CredentialUnavailable");
  }

  return { ask, failure, tooLarge };
}

/** Methods that may be sent twice: all our patches carry preconditions. */
const REPEATABLE: ReadonlySet<string> = new Set(["GET", "PATCH"]);

/** Puts a request on a connection; undefined where that was lost in between. */
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
    // Errors reach the reader, which listens from the next line of its own on; never an uncaught one in between.
    stream.on("error", () => {});
    if (body !== undefined) stream.end(body);
    return stream;
  } catch (error) {
    if (!systemCode(error)?.startsWith("ERR_HTTP2_")) throw error;
    // Closed in between, or a connection has used up all its stream numbers.
    connection.retire();
    return undefined;
  }
}

/** Which of the two a time limit was. */
export function ended(time: TimeLimit): UnreachableCode {
  return time.timedOut() ? "TimedOut" : "Aborted";
}

/** Waits for what others may be waiting for too, but no longer than the time allows. */
function unlessReached<Value>(
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
