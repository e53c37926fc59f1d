import { Agent as HttpAgent, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";

/** A complete answer of a server. */
export interface HttpAnswer {
  readonly status: number;
  /** By lower-case name; the first value if a header was sent twice. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
}

/** One attempt of a request. */
export interface HttpRequest {
  readonly method: Method;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/**
 * A client of one server over kept-alive connections. It follows no redirects and uses no proxy of the
 * environment.
 */
export interface HttpClient {
  /**
   * Sends once; rejects unless a complete answer, of any status, arrives in time and within the size limit.
   */
  send(request: HttpRequest, signal: AbortSignal): Promise<HttpAnswer>;
  /** Closes all connections. */
  close(): void;
}

/** Limits of a request that differ from the defaults. */
export interface HttpLimits {
  /** Includes connecting and reading the body. */
  readonly timeoutMs?: number;
  readonly maxBodyBytes?: number;
  readonly maxConnections?: number;
  /** PEM of the only trusted certificate authority; by default the system's authorities. */
  readonly authority?: string | undefined;
}

/** Creates a client of the server at `baseURL`; its path precedes the path of each request. */
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
        // Connections idle for as long as a dead one are dead too, for example after a freeze.
        if (outgoing.reusedSocket && !signal.aborted) closeIdle(agent);
        reject(timeout.aborted ? new Error(`no answer within ${timeoutMs / 1000} s`) : error);
      };
      outgoing.on("error", fail);
      outgoing.on("response", (incoming) => {
        readBody(incoming, maxBodyBytes).then(
          (text) =>
            resolve({
              status: incoming.statusCode ?? 0,
              headers: getFirstValues(incoming.headers),
              body: text,
            }),
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

function closeIdle(agent: HttpAgent): void {
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

function getFirstValues(headers: NodeJS.Dict<string | string[]>): Record<string, string | undefined> {
  const entries = Object.entries(headers);
  return Object.fromEntries(entries.map(([name, value]) => [name, Array.isArray(value) ? value[0] : value]));
}
