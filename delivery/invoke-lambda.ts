import {
  InvokeCommand,
  type InvokeCommandOutput,
  LambdaClient,
  type LambdaClientConfig,
} from "@aws-sdk/client-lambda";
import type { ControllerName, Event } from "#core/event.ts";
import { Report } from "#core/report.ts";
import { dryRunLambda, type PlatformFault } from "#delivery/dry-run-lambda.ts";
import type { Invocation, Invoker } from "#delivery/invoker.ts";

export interface LambdaInvokerOptions {
  /** Name or ARN of the function that carries out a controller's events. */
  readonly functionName: (controller: ControllerName) => string;
  /** The functions' own time-out; an answer is waited for a little longer than that. */
  readonly functionTimeoutMs: number;
  /** Invocations at a time, of all clusters together: so many sockets there are. */
  readonly maxInFlight: number;
  /** Beyond the above, such as a region or credentials; the SDK's own sources without it. */
  readonly client?: LambdaClientConfig;
}

/** An invoker that can say as well whether a function could be invoked. */
export interface LambdaInvoker extends Invoker {
  /** Invokes nothing; undefined where the controller's function is there and may be invoked. */
  dryRun(controller: ControllerName, signal: AbortSignal): Promise<PlatformFault | undefined>;
}

/** How much longer than the function itself may take the answer is waited for. */
const GRACE_MS = 2_000;

/** How long after its invocation a function may start: a cold start of ours takes about a second. */
const START_MS = 3_000;

const CONNECT_TIMEOUT_MS = 2_000;

/**
 * An invoker that calls AWS Lambda synchronously. It never retries. An answer counts only where the function did not
 * fail and the payload is a report; where the answer was lost it says how long the function may go on writing.
 */
export function createLambdaInvoker(options: LambdaInvokerOptions): LambdaInvoker {
  const timeoutMs = options.functionTimeoutMs + GRACE_MS;
  const sockets = { keepAlive: true, maxSockets: options.maxInFlight };
  const client = new LambdaClient({
    ...options.client,
    maxAttempts: 1,
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      // The deadline is our own, over headers and body alike; this one only frees what would be left over.
      requestTimeout: timeoutMs + GRACE_MS,
      throwOnRequestTimeout: true,
      httpAgent: sockets,
      httpsAgent: sockets,
    },
  });
  return {
    async invoke(event, signal) {
      const startedMs = performance.now();
      const deadline = new AbortController();
      const timer = setTimeout(() => deadline.abort(), timeoutMs);
      try {
        const abortSignal = AbortSignal.any([signal, deadline.signal]);
        return invocationOf(await client.send(commandOf(event, options), { abortSignal }), event);
      } catch (error) {
        const elapsedMs = performance.now() - startedMs;
        const settleMs = Math.max(0, Math.ceil(options.functionTimeoutMs + START_MS - elapsedMs));
        return failureOf(error, settleMs, deadline.signal.aborted);
      } finally {
        clearTimeout(timer);
      }
    },
    dryRun: (controller, signal) => dryRunLambda(client, options.functionName(controller), signal),
    async close() {
      client.destroy();
    },
  };
}

function commandOf(event: Event, options: LambdaInvokerOptions): InvokeCommand {
  return new InvokeCommand({
    FunctionName: options.functionName(event.controller),
    InvocationType: "RequestResponse",
    Payload: Buffer.from(JSON.stringify(event)),
  });
}

function invocationOf(output: InvokeCommandOutput, event: Event): Invocation {
  const text = Buffer.from(output.Payload ?? new Uint8Array()).toString("utf8");
  if (output.FunctionError !== undefined) {
    // The platform has ended it, so nobody is writing any more.
    return failed("FunctionError", `${output.FunctionError}: ${text}`);
  }
  const parsed = Report.safeParse(parseJson(text));
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    return failed("BadReport", `the payload is no report: ${issue?.path.join(".")} ${issue?.message}`);
  }
  if (parsed.data.id === event.id) return { kind: "report", report: parsed.data };
  return failed("BadReport", "the payload is the report of another event");
}

/** `settleMs` counts where the function may have been started. */
function failureOf(error: unknown, settleMs: number, timedOut: boolean): Invocation {
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  const status = statusOf(error);
  const words = `${name}: ${message}`;
  if (timedOut) return failed("TimedOut", "no answer in time", settleMs);
  if (THROTTLED.has(name) || status === 429) return failed("Throttled", words);
  if (REJECTED.has(name) || status === 413) return failed("Rejected", words);
  if (DENIED.has(name) || concernsFunction(name, status)) return failed("Denied", words);
  // A gateway that did not wait for the answer says nothing of the function.
  if (status === 504) return failed("Unreachable", words, settleMs);
  if (status !== undefined || isNotConnected(error, message)) return failed("Unreachable", words);
  return failed("Unreachable", words, settleMs);
}

const THROTTLED: ReadonlySet<string> = new Set([
  "TooManyRequestsException",
  "ThrottlingException",
  "EC2ThrottledException",
]);

/** What is wrong with one event: another one is taken. */
const REJECTED: ReadonlySet<string> = new Set([
  "InvalidRequestContentException",
  "RequestEntityTooLargeException",
  "RequestTooLargeException",
  "UnsupportedMediaTypeException",
]);

/** Refusals that only somebody's action mends: a missing permission or function, a wrong or missing credential. */
const DENIED: ReadonlySet<string> = new Set([
  "AccessDeniedException",
  "CredentialsProviderError",
  "ExpiredTokenException",
  "InvalidSignatureException",
  "ResourceNotFoundException",
  "UnrecognizedClientException",
]);

const NOT_CONNECTED: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
]);

/** The SDK's words for a connection that was not made within `connectionTimeout`, and Node's for one that was never encrypted. */
const NOT_CONNECTED_WORDS = /did not establish a connection|before secure TLS connection was established/;

function isNotConnected(error: unknown, message: string): boolean {
  return NOT_CONNECTED.has(codeOf(error) ?? "") || NOT_CONNECTED_WORDS.test(message);
}

/** Lambda answers 502 and 409 with a name of its own where a function cannot be started: its key, network, file system or state. */
function concernsFunction(name: string, status = 0): boolean {
  if (status === 409 || status === 502) return name.endsWith("Exception");
  return status >= 400 && status < 500;
}

const MAX_WORDS = 500;

function failed(code: string, message: string, settleMs = 0): Invocation {
  return { kind: "failed", code, message: message.slice(0, MAX_WORDS), settleMs };
}

function statusOf(error: unknown): number | undefined {
  if (typeof error !== "object" || error === null || !("$metadata" in error)) return undefined;
  const metadata = error.$metadata;
  if (typeof metadata !== "object" || metadata === null || !("httpStatusCode" in metadata)) return undefined;
  return typeof metadata.httpStatusCode === "number" ? metadata.httpStatusCode : undefined;
}

function codeOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
