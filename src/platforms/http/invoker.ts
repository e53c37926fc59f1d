import { Agent, buildConnector, errors, request } from "undici";
import type { ControllerName, Event } from "#core/event.ts";
import { parseJson } from "#core/parse-json.ts";
import type { Reason } from "#core/reason.ts";
import { getErrorMessage, sanitizeText } from "#core/sanitize-text.ts";
import {
  buildCloudEventHeaders,
  JSON_TYPE,
  MAX_ANSWER_BYTES,
  readFailure,
  TIMEOUT_HEADER,
} from "#platforms/http/protocol.ts";
import { type FailedInvocation, type Invocation, parseReport } from "#platforms/invoker.ts";
import type { CallerTls, FunctionAccess, PlatformInvoker } from "#platforms/platform.ts";

export interface HttpInvokerOptions {
  /** Returns the URL of the function that handles a controller's events. */
  readonly functionUrl: (controller: ControllerName) => string;
  /** The functions' own timeout in milliseconds; the invoker waits a little longer. */
  readonly functionTimeoutMs: number;
  /** The maximum number of connections to each host. */
  readonly maxInFlight: number;
  readonly access?: FunctionAccess;
}

/** Milliseconds to wait for the answer beyond the function's timeout. */
const GRACE_MS = 2_000;

/**
 * The longest delay between request and start of the function that is assumed when an answer is lost. A function
 * whose caller is gone starts nothing new, so a longer cold start does no harm.
 */
const START_MS = 3_000;

const CONNECT_TIMEOUT_MS = 2_000;

/** An idle connection is closed after this time, unless the server says for how long it keeps it. */
const IDLE_MS = 4_000;

/**
 * Creates an invoker that posts events to the URLs of functions, over HTTP/1.1 with kept connections: each invocation
 * has a connection of its own, so that its end ends the invocation alone. It never retries and follows no redirect.
 */
export function createHttpInvoker(options: HttpInvokerOptions): PlatformInvoker {
  const { access, functionUrl, functionTimeoutMs } = options;
  const timeoutMs = functionTimeoutMs + GRACE_MS;
  const agent = new Agent({
    connections: options.maxInFlight,
    allowH2: false,
    keepAliveTimeout: IDLE_MS,
    maxResponseSize: MAX_ANSWER_BYTES,
    // Our own deadline covers both.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: createConnector(access),
  });
  let isRefused = false;

  async function buildHeaders(): Promise<Record<string, string>> {
    const authorization = await access?.authorization({ fresh: isRefused }).catch((error: unknown) => {
      throw new AccessError(getErrorMessage(error));
    });
    return { accept: JSON_TYPE, ...(authorization === undefined ? {} : { authorization }) };
  }

  async function send(url: string, sent: SentRequest, signal: AbortSignal): Promise<Answer> {
    const headers = { ...(await buildHeaders()), ...sent.headers };
    const { method, body: payload } = sent;
    const { statusCode: status, body } = await request(url, {
      ...{ dispatcher: agent, method, headers, signal },
      ...(payload === undefined ? {} : { body: payload }),
    });
    isRefused = status === 401;
    if (status === 200) return { status, text: await body.text() };
    // Whatever becomes of the body, the status counts.
    return { status, text: await body.text().catch(() => "") };
  }

  return {
    async invoke(event, signal) {
      const startedMs = performance.now();
      const deadline = new AbortController();
      const timer = setTimeout(() => deadline.abort(), timeoutMs);
      const settleMs = (): number =>
        Math.max(0, Math.ceil(functionTimeoutMs + START_MS - (performance.now() - startedMs)));
      try {
        const either = AbortSignal.any([signal, deadline.signal]);
        const answer = await send(
          functionUrl(event.controller),
          buildRequest(event, functionTimeoutMs),
          either,
        );
        return parseInvocation(answer, event, settleMs);
      } catch (error) {
        if (deadline.signal.aborted) return createFailure("TimedOut", "no answer in time", settleMs());
        return classifyError(error, settleMs());
      } finally {
        clearTimeout(timer);
      }
    },

    async dryRun(controller, signal) {
      const url = functionUrl(controller);
      const deadline = AbortSignal.timeout(DRY_RUN_TIMEOUT_MS);
      try {
        const sent: SentRequest = { method: "HEAD", headers: {} };
        const { status } = await send(url, sent, AbortSignal.any([signal, deadline]));
        return parseReason(status, url);
      } catch (error) {
        if (error instanceof AccessError)
          return { code: "CredentialsMissing", message: `function ${url}: ${error.message}` };
        const words = deadline.aborted
          ? `no answer within ${DRY_RUN_TIMEOUT_MS / 1000} s`
          : describeError(error);
        return { code: "Unreachable", message: `function ${url}: ${words} (${NETWORK})` };
      }
    },

    // What is in flight at the end would only be waited for.
    close: () => agent.destroy(),
  };
}

interface SentRequest {
  readonly method: "POST" | "HEAD";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** The caller's own credential cannot be read. */
class AccessError extends Error {}

function buildRequest(event: Event, functionTimeoutMs: number): SentRequest {
  return {
    method: "POST",
    headers: {
      "content-type": JSON_TYPE,
      ...buildCloudEventHeaders(event.id, `/clusters/${event.cluster}`, "serverless-ccm.event"),
      [TIMEOUT_HEADER]: String(functionTimeoutMs),
      // The event has it, too; this is for proxies.
      ...(event.trace === undefined ? {} : { traceparent: event.trace }),
    },
    body: JSON.stringify(event),
  };
}

/** Errors of the attempt to connect: no function has seen the request. */
const notConnected = new WeakSet<Error>();

/** Creates a connector that uses the caller's current certificates, and marks the errors of connecting. */
function createConnector(access: FunctionAccess | undefined): buildConnector.connector {
  let made: { readonly key: string; readonly connect: buildConnector.connector } | undefined;
  function connectorFor(tls: CallerTls): buildConnector.connector {
    const key = JSON.stringify(tls);
    if (made?.key !== key)
      made = { key, connect: buildConnector({ ...tls, allowH2: false, timeout: CONNECT_TIMEOUT_MS }) };
    return made.connect;
  }
  return (target, callback) => {
    const fail = (error: Error): void => {
      notConnected.add(error);
      callback(error, null);
    };
    Promise.resolve(access?.readTls() ?? {}).then(
      (tls) =>
        connectorFor(tls)(target, (error, socket) =>
          error === null ? callback(null, socket as NonNullable<typeof socket>) : fail(error),
        ),
      (error: unknown) => fail(new AccessError(getErrorMessage(error))),
    );
  };
}

function parseInvocation({ status, text }: Answer, event: Event, settleMs: () => number): Invocation {
  if (status !== 200) {
    const body = parseErrorBody(text);
    const { code, mayRun, advice } = readFailure(status, body?.code);
    const words = [
      `status ${status}`,
      body === undefined ? "" : `${body.code}: ${body.message}`,
      advice ?? "",
    ];
    return createFailure(code, words.filter((each) => each !== "").join("; "), mayRun ? settleMs() : 0);
  }
  const parsed = parseReport(text, event);
  return parsed.kind === "report" ? parsed : createFailure("BadReport", `the body ${parsed.fault}`);
}

function classifyError(error: unknown, settleMs: number): Invocation {
  if (error instanceof AccessError) return createFailure("Denied", error.message);
  const words = describeError(error);
  if (error instanceof Error && notConnected.has(error)) return createFailure("Unreachable", words);
  // An answer begins when the function has ended, so an endless one is not a report.
  if (error instanceof errors.ResponseExceededMaxSizeError)
    return createFailure("BadReport", `the answer has more than ${MAX_ANSWER_BYTES} bytes`);
  return createFailure("Unreachable", words, settleMs);
}

const MAX_CHARACTERS = 500;

function createFailure(code: string, message: string, settleMs = 0): FailedInvocation {
  return { kind: "failed", code, message: sanitizeText(message, MAX_CHARACTERS), settleMs };
}

function parseErrorBody(text: string): { readonly code: string; readonly message: string } | undefined {
  const value = parseJson(text);
  if (typeof value !== "object" || value === null || !("code" in value) || !("message" in value))
    return undefined;
  const { code, message } = value;
  return typeof code === "string" && typeof message === "string" ? { code, message } : undefined;
}

function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = "code" in error && typeof error.code === "string" ? `${error.code}: ` : "";
  // A host with several addresses fails with one error for each.
  const first = error instanceof AggregateError ? error.errors[0] : undefined;
  return `${code}${error.message || getErrorMessage(first)}`;
}

/** Time limit of a dry run in milliseconds; a platform may have to start a process for it. */
const DRY_RUN_TIMEOUT_MS = 10_000;

const NETWORK = "check the network, the URL template and the certificate authority";

/** A throttled function exists and may be invoked. */
function parseReason(status: number, url: string): Reason | undefined {
  if ((status >= 200 && status < 300) || status === 429) return undefined;
  const { advice = NETWORK } = readFailure(status, undefined);
  return {
    code: DRY_RUN_CODES.get(status) ?? "Unreachable",
    message: `function ${url}: status ${status} (${advice})`,
  };
}

const DRY_RUN_CODES: ReadonlyMap<number, string> = new Map([
  [401, "CredentialsRefused"],
  [403, "Denied"],
  [404, "FunctionMissing"],
]);
