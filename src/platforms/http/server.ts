import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { TLSSocket } from "node:tls";
import { sanitizeText } from "#core/sanitize-text.ts";
import type { Authenticate } from "#platforms/http/authentication.ts";
import { boundConnections } from "#platforms/http/bound-connections.ts";
import { sendError } from "#platforms/http/exchange.ts";
import {
  createFunctionRunner,
  type FunctionRunner,
  type ServedFunction,
} from "#platforms/http/function-runner.ts";
import { type ErrorCode, isLoopback } from "#platforms/http/protocol.ts";
import { keepTlsFresh, type ReadServerTls } from "#platforms/http/server-tls.ts";
import { createWebhookRunner, type Webhook } from "#platforms/http/webhook-runner.ts";

export interface FunctionServerOptions {
  /** The functions by their names, such as `node`. */
  readonly functions: ReadonlyMap<string, ServedFunction>;
  /** What other callers than relays ask; none by default. */
  readonly webhooks?: readonly Webhook[] | undefined;
  /** Without it everyone may invoke, and only a loopback address is served. */
  readonly authenticate?: Authenticate | undefined;
  /** Reads certificate, key and the authority of client certificates; without it the server speaks plain HTTP. */
  readonly readTls?: ReadServerTls | undefined;
  readonly bindAddress: string;
  /** 0 for any free port. */
  readonly port: number;
  /** The maximum number of invocations at a time. */
  readonly concurrency: number;
  /** The longest time of an invocation, in milliseconds. */
  readonly functionTimeoutMs: number;
  readonly log: (line: Readonly<Record<string, unknown>>) => void;
}

/** Functions that are served over HTTP. */
export interface FunctionServer {
  readonly url: string;
  readonly port: number;
  /**
   * Starts no further invocation, and resolves with true when none is running. When the signal fires, it lets those
   * that still run start nothing new, and resolves with false if they do not end.
   */
  drain(signal: AbortSignal): Promise<boolean>;
  /** Closes all connections. */
  close(): Promise<void>;
}

/** A relay sends headers and body at once. */
const LIMITS = { headersTimeout: 10_000, requestTimeout: 20_000, connectionsCheckingInterval: 1_000 };
/** Longer than callers keep an idle connection, which then close it first; they learn this time. */
const KEEP_ALIVE_MS = 65_000;
const HANDSHAKE_TIMEOUT_MS = 10_000;
/** Time to read an answer, beyond the time of its invocation. */
const ANSWER_TIMEOUT_MS = 15_000;
/** Requests to webhooks at a time for each invocation: they mostly wait, one of each API server. */
const WEBHOOKS_PER_INVOCATION = 5;
/** Connections beside those of invocations and webhooks: idle ones, probes, and callers that are refused. */
const FURTHER_CONNECTIONS = 200;

/**
 * Serves functions at `/NAME`, or at any path that ends so, and a single one at `/`, too; also `/healthz` and
 * `/readyz`. POST invokes. HEAD tells, by its status, whether the caller may invoke the function now. Rejects if it
 * cannot bind the address, or if everyone could invoke functions from another machine.
 */
export async function startFunctionServer(options: FunctionServerOptions): Promise<FunctionServer> {
  const { authenticate, bindAddress, readTls, log } = options;
  if (authenticate === undefined && !isLoopback(bindAddress))
    throw new Error(
      `${bindAddress} is not a loopback address: functions are not served there without authentication`,
    );
  const runner = createFunctionRunner(options);
  const webhookRunner = createWebhookRunner(
    WEBHOOKS_PER_INVOCATION * options.concurrency,
    options.functionTimeoutMs,
  );
  let isDraining = false;
  const refusals = createRefusalLog(log);

  const listener: RequestListener = (request, response) => {
    // Without a listener, an error of the connection would end the process.
    request.on("error", () => undefined);
    if (isDraining) response.setHeader("connection", "close");
    const path = (request.url ?? "/").split("?", 1)[0] ?? "/";
    if (path === "/healthz") return answerProbe(request, response, true);
    if (path === "/readyz") return answerProbe(request, response, !isDraining);
    void handle(request, response, path).catch((error: unknown) => {
      log({ level: "error", event: "RequestFailed", message: sanitizeText(String(error), 500) });
      response.destroy();
    });
  };

  async function handle(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    const refuse = (code: ErrorCode, message: string): void => sendError(request, response, code, message);
    const webhook = options.webhooks?.find(({ pathPrefix }) => path.startsWith(pathPrefix));
    if (webhook !== undefined) {
      if (isDraining) return refuse("Draining", ENDS);
      return webhookRunner.run(webhook, request, response, path);
    }
    if (authenticate === undefined) {
      // A page of another site could name this machine as its own.
      if (!isLoopback(stripPort(request.headers.host ?? "")))
        return refuse("WrongHost", "without authentication, ask as localhost or by the loopback address");
    } else {
      const caller = await authenticate(readCredentials(request));
      if (caller.kind !== "allowed") {
        refusals.refused(caller.message);
        if (caller.kind === "forbidden") return refuse("Forbidden", caller.message);
        response.setHeader("www-authenticate", "Bearer");
        return refuse("Unauthenticated", caller.message);
      }
    }
    const name = findFunctionName(path, options.functions);
    if (name === undefined)
      return refuse(
        "FunctionMissing",
        `no such function; there are ${[...options.functions.keys()].join(", ")}`,
      );
    if (request.method !== "POST" && request.method !== "HEAD") {
      response.setHeader("allow", "POST, HEAD");
      return refuse("MethodNotAllowed", "POST an event; HEAD asks whether that is possible");
    }
    if (isDraining) {
      response.setHeader("retry-after", "1");
      return refuse("Draining", ENDS);
    }
    if (request.method === "HEAD") return void response.writeHead(204).end();
    await runner.run(name, request, response);
  }

  const tls = await readTls?.();
  const server = await listen(createFunctionServer(listener, tls), options);
  const stopFollowingTls = readTls && tls && keepTlsFresh(server, tls, readTls, log);
  const { port } = server.address() as AddressInfo;
  const host = bindAddress.includes(":") ? `[${bindAddress}]` : bindAddress;
  return {
    port,
    url: `${readTls === undefined ? "http" : "https"}://${host}:${port}`,
    async drain(signal) {
      isDraining = true;
      return endInvocations(runner, signal);
    },
    async close() {
      stopFollowingTls?.();
      refusals.close();
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

const ENDS = "this process ends; ask another one";

/** Time for the last requests of invocations that were told to start nothing new. */
const SETTLE_MS = 1_000;

async function endInvocations(runner: FunctionRunner, signal: AbortSignal): Promise<boolean> {
  if (await runner.idle(signal)) return true;
  runner.abort();
  return runner.idle(AbortSignal.timeout(SETTLE_MS));
}

type Tls = Awaited<ReturnType<ReadServerTls>>;

function createFunctionServer(listener: RequestListener, tls: Tls | undefined): Server {
  if (tls === undefined) return createServer(LIMITS, listener);
  // Probes have no certificate; whether that of a caller is verified is read for each request.
  const verification = { requestCert: tls.ca !== undefined, rejectUnauthorized: false };
  return createTlsServer(
    { ...LIMITS, ...tls, ...verification, minVersion: "TLSv1.2", handshakeTimeout: HANDSHAKE_TIMEOUT_MS },
    listener,
  );
}

async function listen(server: Server, options: FunctionServerOptions): Promise<Server> {
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.timeout = options.functionTimeoutMs + ANSWER_TIMEOUT_MS;
  boundConnections(server, (1 + WEBHOOKS_PER_INVOCATION) * options.concurrency + FURTHER_CONNECTIONS);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, options.bindAddress, () => {
      server.off("error", reject);
      resolve();
    });
  });
  return server;
}

function stripPort(host: string): string {
  return host.replace(/:\d*$/, "");
}

function readCredentials({ headers, socket }: IncomingMessage) {
  const isVerified = socket instanceof TLSSocket && socket.authorized;
  return {
    authorization: headers.authorization,
    certificate: isVerified ? socket.getPeerCertificate().raw : undefined,
  };
}

function findFunctionName(path: string, functions: ReadonlyMap<string, unknown>): string | undefined {
  const [only] = functions.size === 1 ? functions.keys() : [];
  if (path === "/") return only;
  const name = path.slice(path.lastIndexOf("/") + 1);
  return functions.has(name) ? name : undefined;
}

function answerProbe({ method }: IncomingMessage, response: ServerResponse, isWell: boolean): void {
  const isAnswered = method === "GET" || method === "HEAD";
  const [status, text] = isAnswered
    ? isWell
      ? [200, "ok"]
      : [503, "draining"]
    : [405, "only GET is answered"];
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" });
  response.end(`${text}\n`);
}

/** The shortest time between two log lines about refused callers. */
const REFUSALS_EVERY_MS = 60_000;

/** Logs the first refused caller at once, and later ones as one line with their number. */
function createRefusalLog(log: FunctionServerOptions["log"]) {
  let count = 0;
  let timer: NodeJS.Timeout | undefined;
  let last = "";
  function tell(): void {
    timer = undefined;
    if (count === 0) return;
    log({ level: "warn", event: "CallersRefused", count, message: last });
    count = 0;
    timer = setTimeout(tell, REFUSALS_EVERY_MS).unref();
  }
  return {
    refused(message: string): void {
      count += 1;
      last = message;
      if (timer === undefined) tell();
    },
    close: () => clearTimeout(timer),
  };
}
