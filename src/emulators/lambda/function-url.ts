import { createServer, type ServerOptions } from "node:https";
import type { AddressInfo, Socket } from "node:net";

/** A function's code behind a URL, in the payload format 2.0 of function URLs. */
export type UrlHandler = (
  event: unknown,
  context: { readonly awsRequestId: string; getRemainingTimeInMillis(): number },
) => Promise<{
  readonly statusCode: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}>;

/** A running function URL, which keeps its port over `turnOff`. */
export interface FunctionUrl {
  /** Without a path, such as `https://127.0.0.1:1234/`. */
  readonly url: string;
  /** The status of each answer. */
  readonly statuses: readonly number[];
  /** The most requests at the same time. */
  mostAtOnce(): number;
  /** Refuses connections and cuts open ones. */
  turnOff(): Promise<void>;
  turnOn(): Promise<void>;
  close(): Promise<void>;
}

export interface FunctionUrlOptions {
  readonly certificate: string;
  readonly key: string;
  readonly handler: UrlHandler;
  readonly timeoutMs: number;
}

/**
 * Serves a function at a URL on 127.0.0.1 as Lambda does: one invocation for each request, the body in base64,
 * names of headers in lower case, and 502 for a handler that fails.
 */
export async function startFunctionUrl(options: FunctionUrlOptions): Promise<FunctionUrl> {
  const statuses: number[] = [];
  const sockets = new Set<Socket>();
  const pair: ServerOptions = { cert: options.certificate, key: options.key };
  let running = 0;
  let most = 0;
  let requests = 0;
  const server = createServer(pair, async (request, response) => {
    running += 1;
    most = Math.max(most, running);
    requests += 1;
    const endMs = performance.now() + options.timeoutMs;
    try {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const { pathname, search } = new URL(request.url ?? "/", "https://url");
      const event = {
        version: "2.0",
        rawPath: pathname,
        rawQueryString: search.slice(1),
        headers: request.headers,
        requestContext: { http: { method: request.method, path: pathname } },
        body: Buffer.concat(chunks).toString("base64"),
        isBase64Encoded: true,
      };
      const answer = await options.handler(event, {
        awsRequestId: `request-${requests}`,
        getRemainingTimeInMillis: () => endMs - performance.now(),
      });
      statuses.push(answer.statusCode);
      response.writeHead(answer.statusCode, answer.headers).end(answer.body);
    } catch {
      statuses.push(502);
      response.writeHead(502).end();
    } finally {
      running -= 1;
    }
  });
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  const listen = (port: number): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once("error", reject);
      server.listen(port, "127.0.0.1", () => {
        server.off("error", reject);
        resolve();
      });
    });
  const turnOff = async (): Promise<void> => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  await listen(0);
  const { port } = server.address() as AddressInfo;
  return {
    url: `https://127.0.0.1:${port}/`,
    statuses,
    mostAtOnce: () => most,
    turnOff,
    turnOn: () => listen(port),
    close: async () => {
      if (server.listening) await turnOff();
    },
  };
}
