import {
  InvokeCommand,
  type InvokeCommandOutput,
  LambdaClient,
  type LambdaClientConfig,
} from "@aws-sdk/client-lambda";
import { AWS_CREDENTIALS } from "#core/aws-credentials.ts";
import type { ControllerName, Event } from "#core/event.ts";
import type { Reason } from "#core/reason.ts";
import { type Invocation, parseReport } from "#platforms/invoker.ts";
import type { PlatformInvoker } from "#platforms/platform.ts";

export interface LambdaInvokerOptions {
  /** Name or ARN of the function that handles a controller's events. */
  readonly functionName: (controller: ControllerName) => string;
  /** The functions' own timeout in milliseconds; the invoker waits a little longer. */
  readonly functionTimeoutMs: number;
  /** Invocations at a time over all clusters, and the number of sockets. */
  readonly maxInFlight: number;
  /** Further SDK settings, such as a region or credentials. Default: the SDK's own sources. */
  readonly client?: LambdaClientConfig;
}

/** Milliseconds to wait for the answer beyond the function's timeout. */
const GRACE_MS = 2_000;

/** Longest delay between invocation and function start; a cold start of ours takes about a second. */
const START_MS = 3_000;

const CONNECT_TIMEOUT_MS = 2_000;

/**
 * Creates an invoker that calls AWS Lambda synchronously. It never retries. An answer counts only if the
 * function succeeded and the payload is a report. For a lost answer, the failure states how long the function
 * may still write.
 */
export function createLambdaInvoker(options: LambdaInvokerOptions): PlatformInvoker {
  const timeoutMs = options.functionTimeoutMs + GRACE_MS;
  const sockets = { keepAlive: true, maxSockets: options.maxInFlight };
  const client = new LambdaClient({
    ...options.client,
    maxAttempts: 1,
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      // Our own deadline covers headers and body; this one only frees leftover resources.
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
        return parseInvocation(await client.send(buildCommand(event, options), { abortSignal }), event);
      } catch (error) {
        const elapsedMs = performance.now() - startedMs;
        const settleMs = Math.max(0, Math.ceil(options.functionTimeoutMs + START_MS - elapsedMs));
        return classifyFailure(error, settleMs, deadline.signal.aborted);
      } finally {
        clearTimeout(timer);
      }
    },
    dryRun: (controller, signal) => checkInvocable(client, options.functionName(controller), signal),
    async close() {
      client.destroy();
    },
  };
}

function buildCommand(event: Event, options: LambdaInvokerOptions): InvokeCommand {
  return new InvokeCommand({
    FunctionName: options.functionName(event.controller),
    InvocationType: "RequestResponse",
    Payload: Buffer.from(JSON.stringify(event)),
  });
}

function parseInvocation(output: InvokeCommandOutput, event: Event): Invocation {
  const text = Buffer.from(output.Payload ?? new Uint8Array()).toString("utf8");
  if (output.FunctionError !== undefined) {
    // The platform has ended the function, so it writes no more.
    return createFailure("FunctionError", `${output.FunctionError}: ${text}`);
  }
  const parsed = parseReport(text, event);
  return parsed.kind === "report" ? parsed : createFailure("BadReport", `the payload ${parsed.fault}`);
}

/** `settleMs` is set if the function may have started. */
function classifyFailure(error: unknown, settleMs: number, timedOut: boolean): Invocation {
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  const status = getHttpStatus(error);
  const words = `${name}: ${message}`;
  if (timedOut) return createFailure("TimedOut", "no answer in time", settleMs);
  if (THROTTLED.has(name) || status === 429) return createFailure("Throttled", words);
  if (REJECTED.has(name) || status === 413) return createFailure("Rejected", words);
  if (DENIED.has(name) || isFunctionError(name, status)) return createFailure("Denied", words);
  // A gateway that timed out says nothing about the function.
  if (status === 504) return createFailure("Unreachable", words, settleMs);
  if (status !== undefined || isNotConnected(error, message)) return createFailure("Unreachable", words);
  return createFailure("Unreachable", words, settleMs);
}

const THROTTLED: ReadonlySet<string> = new Set([
  "TooManyRequestsException",
  "ThrottlingException",
  "EC2ThrottledException",
]);

/** Errors of a single event; other events are accepted. */
const REJECTED: ReadonlySet<string> = new Set([
  "InvalidRequestContentException",
  "RequestEntityTooLargeException",
  "RequestTooLargeException",
  "UnsupportedMediaTypeException",
]);

/**
 * Refusals that need an operator's action: a missing permission or function, missing or wrong credentials.
 */
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

/**
 * The SDK's message for a connection that failed within `connectionTimeout`, and Node's for a failed TLS
 * handshake.
 */
const NOT_CONNECTED_WORDS = /did not establish a connection|before secure TLS connection was established/;

function isNotConnected(error: unknown, message: string): boolean {
  return NOT_CONNECTED.has(getErrorCode(error) ?? "") || NOT_CONNECTED_WORDS.test(message);
}

/**
 * Lambda answers 502 or 409 with a specific error name if it cannot start a function because of its key,
 * network, file system or state.
 */
function isFunctionError(name: string, status = 0): boolean {
  if (status === 409 || status === 502) return name.endsWith("Exception");
  return status >= 400 && status < 500;
}

const MAX_CHARACTERS = 500;

function createFailure(code: string, message: string, settleMs = 0): Invocation {
  return { kind: "failed", code, message: message.slice(0, MAX_CHARACTERS), settleMs };
}

function getHttpStatus(error: unknown): number | undefined {
  if (typeof error !== "object" || error === null || !("$metadata" in error)) return undefined;
  const metadata = error.$metadata;
  if (typeof metadata !== "object" || metadata === null || !("httpStatusCode" in metadata)) return undefined;
  return typeof metadata.httpStatusCode === "number" ? metadata.httpStatusCode : undefined;
}

function getErrorCode(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/** Time limit of the answer, in milliseconds; nothing runs for it. */
const TIMEOUT_MS = 10_000;

/**
 * Asks Lambda whether a function exists and may be invoked, without invoking it. Returns undefined if it may.
 * Never rejects.
 */
export async function checkInvocable(
  client: LambdaClient,
  functionName: string,
  signal: AbortSignal,
): Promise<Reason | undefined> {
  const deadline = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const command = new InvokeCommand({ FunctionName: functionName, InvocationType: "DryRun" });
    await client.send(command, { abortSignal: AbortSignal.any([signal, deadline]) });
    return undefined;
  } catch (error) {
    const words = deadline.aborted ? `no answer within ${TIMEOUT_MS / 1000} s` : describeError(error);
    return parseReason(words, functionName);
  }
}

interface RejectionAdvice {
  readonly code: string;
  /** Matches the name of the SDK's error, or for some the beginning of its message. */
  readonly words: RegExp;
  /** What to do. */
  readonly advice: string;
}

const REFUSALS: readonly RejectionAdvice[] = [
  { code: "RegionMissing", words: /^Error: Region is missing/, advice: "give --region or set AWS_REGION" },
  {
    code: "CredentialsMissing",
    ...AWS_CREDENTIALS.missing,
  },
  {
    code: "CredentialsRefused",
    ...AWS_CREDENTIALS.refused,
  },
  {
    code: "FunctionMissing",
    words: /^ResourceNotFoundException: /,
    advice: "check --function-prefix or --function-arn, --region, and that it is deployed to this account",
  },
  {
    code: "Denied",
    words: /^AccessDenied/,
    advice: "allow lambda:InvokeFunction on it to this process's identity",
  },
];

const OTHERWISE: Omit<RejectionAdvice, "words"> = {
  code: "Unreachable",
  advice: "check the network, --region and, where it is set, AWS_ENDPOINT_URL_LAMBDA",
};

/**
 * Errors that only a platform returns that has the function and allows the invocation. One is throttling,
 * which comes after the permission check. The other is serverless-offline's error that dry runs are not
 * supported, which it returns only for existing functions.
 */
const INVOCABLE =
  /^(TooManyRequestsException|ThrottlingException|InvalidParameterValueException: invocationType: 'DryRun' not supported)\b/;

const MAX_REASON_CHARACTERS = 300;

function parseReason(words: string, functionName: string): Reason | undefined {
  if (INVOCABLE.test(words)) return undefined;
  const { code, advice } = REFUSALS.find((refusal) => refusal.words.test(words)) ?? OTHERWISE;
  return { code, message: `function ${functionName}: ${words.slice(0, MAX_REASON_CHARACTERS)} (${advice})` };
}

function describeError(error: unknown): string {
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  return `${name}: ${message}`;
}
