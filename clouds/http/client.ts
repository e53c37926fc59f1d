import { Agent as HttpAgent, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";

/** What a server answered, whole. */
export interface HttpAnswer {
  readonly status: number;
  /** By lower-case name; of a header that was sent twice, the first. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
}

/** What is sent once. */
export interface HttpRequest {
  readonly method: Method;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** One server over kept-alive connections. Redirects are not followed, and no proxy is taken from the environment. */
export interface HttpClient {
  /** Sends once; rejects unless a whole answer came, of whatever status, in time and within the limit of its size. */
  send(request: HttpRequest, signal: AbortSignal): Promise<HttpAnswer>;
  /** Ends all connections. */
  close(): void;
}

/** Bounds of one request, where they are not the usual ones. */
export interface HttpLimits {
  /** Connecting and the body included. */
  readonly timeoutMs?: number;
  readonly maxBodyBytes?: number;
  readonly maxConnections?: number;
  /** PEM of the only authority whose certificates are trusted; the system's authorities without it. */
  readonly authority?: string | undefined;
}

/** A client of the server at `baseURL`; a path there is kept before the path of each request. */
export function createHttpClient(baseURL: string, limits: HttpLimits = {}): HttpClient {
  const { timeoutMs = 10_000, maxBodyBytes = 16 * 1024 * 1024, maxConnections = 4, authority } = limits;
  const base = baseURL.replace(/(?<!\/)\/+$/, "");
  const isTls = base.startsWith("https:");
  const agentOptions = { keepAlive: true, maxSockets: maxConnections, maxFreeSockets: maxConnections };
  const agent = isTls ? new HttpsAgent({ ...agentOptions, ca: authority }) : new HttpAgent(agentOptions);
  const send = isTls ? requestHttps : requestHttp;
  return {
    send({ method, path, headers, body }, signal) {
      const { promise, resolve, reject } = Promise.withResolvers<HttpAnswer>();
      const timeout = AbortSignal.timeout(timeoutMs);
      const outgoing = send(`${base}${path}`, {
        agent,
        method,
        headers: body === undefined ? headers : { ...headers, "content-length": Buffer.byteLength(body) },
        signal: AbortSignal.any([signal, timeout]),
      });
      const fail = (error: Error): void => {
        // What had been idle for as long as a connection that turned out dead is dead too, as after a thaw.
        if (outgoing.reusedSocket && !signal.aborted) endIdle(agent);
        reject(timeout.aborted ? new Error(`no answer within ${timeoutMs / 1000} s`) : error);
      };
      outgoing.on("error", fail);
      outgoing.on("response", (incoming) => {
        readBody(incoming, maxBodyBytes).then(
          (text) =>
            resolve({ status: incoming.statusCode ?? 0, headers: firstOfEach(incoming.headers), body: text }),
          (error) => {
            outgoing.destroy();
            fail(error);
          },
        );
      });
      outgoing.end(body);
      return promise;
    },
    close: () => agent.destroy(),
  };
}

function endIdle(agent: HttpAgent): void {
  for (const sockets of Object.values(agent.freeSockets))
    for (const socket of sockets ?? []) socket.destroy();
}

async function readBody(incoming: AsyncIterable<Buffer>, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of incoming) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new Error(`the answer is larger than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function firstOfEach(headers: NodeJS.Dict<string | string[]>): Record<string, string | undefined> {
  const entries = Object.entries(headers);
  return Object.fromEntries(entries.map(([name, value]) => [name, Array.isArray(value) ? value[0] : value]));
}
