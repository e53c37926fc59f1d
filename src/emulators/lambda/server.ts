import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** The context that a function gets from its platform. */
export interface LambdaContext {
  readonly awsRequestId: string;
  readonly functionName: string;
  getRemainingTimeInMillis(): number;
}

/** A function's code; a thrown error is answered as an unhandled function error. */
export type LambdaHandler = (event: unknown, context: LambdaContext) => Promise<unknown>;

/** One invocation in the platform's view; a dry run does not count. */
export interface InvocationRecord {
  readonly functionName: string;
  /** HTTP status of the Invoke call; 200 for a failed function, as at AWS. */
  readonly status: number;
  readonly functionError: boolean;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly requestBytes: number;
}

export interface LambdaOptions {
  readonly functions: Readonly<Record<string, LambdaHandler>>;
  readonly timeoutMs: number;
  /** More concurrent invocations than this are throttled, as above an account's concurrency. */
  readonly concurrency: number;
  /** 0 for any free one. */
  readonly port?: number;
}

/** A running endpoint, which keeps its port over `turnOff`. */
export interface LambdaServer {
  readonly url: string;
  record(): readonly InvocationRecord[];
  /** Refuses connections and cuts open ones; running code continues unheard, as after a lost network. */
  turnOff(): Promise<void>;
  turnOn(): Promise<void>;
  close(): Promise<void>;
}

/** Lambda's own limit for the payload of a synchronous invocation, in bytes. */
const MAX_PAYLOAD_BYTES = 6 * 1024 * 1024;

/** The number of remembered invocations. */
const MAX_RECORDS = 100_000;

const INVOKE_PATH = /^\/2015-03-31\/functions\/([A-Za-z0-9_.:%-]+)\/invocations$/;

const SETTINGS_PATH = /^\/2016-08-19\/account-settings\/?$/;
const CONCURRENCY_PATH = /^\/2019-09-30\/functions\/([A-Za-z0-9_.:%-]+)\/concurrency$/;

/** An answer to an Invoke call. */
interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Starts an endpoint on 127.0.0.1 that answers AWS Lambda's Invoke API with the given functions: RequestResponse,
 * DryRun, and Event without its retries. It also returns the concurrency limits of the account and each function.
 */
export async function startLambda(options: LambdaOptions): Promise<LambdaServer> {
  const records: InvocationRecord[] = [];
  let running = 0;
  const server = createServer((request, response) => void serve(request, response));
  let port = options.port ?? 0;

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const startedAt = Date.now();
    const reading = request.method === "GET" ? answerToReading(request.url ?? "", options) : undefined;
    if (reading !== undefined) return send(response, reading);
    const functionName = decodeURIComponent(INVOKE_PATH.exec(request.url ?? "")?.[1] ?? "");
    const payload = await readPayload(request);
    const type = request.headers["x-amz-invocation-type"];
    const answer = await answerTo(request, functionName, payload, type);
    if (type === "DryRun") return send(response, answer);
    if (records.length === MAX_RECORDS) records.shift();
    records.push({
      functionName,
      status: answer.status,
      functionError: answer.headers?.["x-amz-function-error"] !== undefined,
      startedAt,
      endedAt: Date.now(),
      requestBytes: payload?.length ?? 0,
    });
    send(response, answer);
  }

  async function answerTo(
    request: IncomingMessage,
    functionName: string,
    payload: Buffer | undefined,
    type: string | string[] | undefined,
  ): Promise<Answer> {
    if (payload === undefined)
      return buildRefusal(413, "RequestEntityTooLargeException", "the payload is over 6 MB");
    if (request.method !== "POST")
      return buildRefusal(405, "MethodNotAllowedException", "only POST is answered");
    const handler = Object.hasOwn(options.functions, functionName)
      ? options.functions[functionName]
      : undefined;
    if (handler === undefined) {
      return buildRefusal(404, "ResourceNotFoundException", `Function not found: ${functionName}`);
    }
    if (type === "DryRun") return { status: 204, body: undefined };
    if (running >= options.concurrency)
      return buildRefusal(429, "TooManyRequestsException", "Rate Exceeded.");
    let event: unknown;
    try {
      event = JSON.parse(payload.toString("utf8"));
    } catch {
      return buildRefusal(400, "InvalidRequestContentException", "Could not parse request body into json");
    }
    running += 1;
    const answer = runFunction(handler, functionName, event, options.timeoutMs).finally(() => {
      running -= 1;
    });
    return type === "Event" ? { status: 202, body: undefined } : answer;
  }

  async function turnOn(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(port, "127.0.0.1", () => {
        server.off("error", reject);
        resolve();
      });
    });
    port = (server.address() as AddressInfo).port;
  }

  async function turnOff(): Promise<void> {
    if (!server.listening) return;
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  }

  await turnOn();
  return { url: `http://127.0.0.1:${port}`, record: () => records, turnOff, turnOn, close: turnOff };
}

/** Answers an operator's reads of the account and of a function; no function has its own concurrency here. */
function answerToReading(path: string, { functions, concurrency }: LambdaOptions): Answer | undefined {
  if (SETTINGS_PATH.test(path)) {
    const limit = { ConcurrentExecutions: concurrency, UnreservedConcurrentExecutions: concurrency };
    return { status: 200, body: { AccountLimit: limit } };
  }
  const encoded = CONCURRENCY_PATH.exec(path)?.[1];
  if (encoded === undefined) return undefined;
  const name = decodeURIComponent(encoded);
  if (Object.hasOwn(functions, name)) return { status: 200, body: {} };
  return buildRefusal(404, "ResourceNotFoundException", `Function not found: ${name}`);
}

function send(response: ServerResponse, { status, body, headers }: Answer): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(status === 204 ? undefined : JSON.stringify(body ?? null));
}

async function runFunction(
  handler: LambdaHandler,
  functionName: string,
  event: unknown,
  timeoutMs: number,
): Promise<Answer> {
  const awsRequestId = crypto.randomUUID();
  const deadline = performance.now() + timeoutMs;
  const context: LambdaContext = {
    awsRequestId,
    functionName,
    getRemainingTimeInMillis: () => Math.max(0, deadline - performance.now()),
  };
  let timer: NodeJS.Timeout | undefined;
  const timedOut = new Promise<Answer>((resolve) => {
    const message = `${awsRequestId} Task timed out after ${(timeoutMs / 1000).toFixed(2)} seconds`;
    timer = setTimeout(() => resolve(buildFunctionError("Sandbox.Timedout", message)), timeoutMs);
  });
  const done = handler(event, context).then(
    (body): Answer => ({ status: 200, body }),
    (error: unknown) => {
      const { name, message } = error instanceof Error ? error : new Error(String(error));
      return buildFunctionError(name, message);
    },
  );
  try {
    return await Promise.race([done, timedOut]);
  } finally {
    clearTimeout(timer);
  }
}

function buildFunctionError(errorType: string, errorMessage: string): Answer {
  return { status: 200, body: { errorType, errorMessage }, headers: { "x-amz-function-error": "Unhandled" } };
}

function buildRefusal(status: number, type: string, message: string): Answer {
  return { status, body: { Type: "User", Message: message }, headers: { "x-amzn-errortype": type } };
}

/** Returns the request's body, or undefined if it exceeds the limit or broke off. */
async function readPayload(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request) {
      bytes += chunk.length;
      // A body above the limit is read to its end and dropped, so that the sender receives the answer.
      if (bytes <= MAX_PAYLOAD_BYTES) chunks.push(chunk);
    }
  } catch {
    return undefined;
  }
  return bytes <= MAX_PAYLOAD_BYTES ? Buffer.concat(chunks) : undefined;
}
