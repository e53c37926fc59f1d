import { type Budget, MAX_TURN_WAIT_MS, readRateLimit } from "#clouds/http/budget.ts";
import {
  type ApiErrorReader,
  buildUnansweredFault,
  classify,
  redactError,
  redactOutcome,
  type Signature,
} from "#clouds/http/classify.ts";
import type { HttpAnswer, HttpClient, Method } from "#clouds/http/client.ts";
import type { CallContext } from "#clouds/http/meter.ts";
import type { Fault, Outcome } from "#clouds/http/outcome.ts";
import { fault } from "#clouds/outcome.ts";
import type { Sleep } from "#clouds/sleep.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";

/** One request; a GET without `method`. */
export interface ApiRequest {
  readonly method?: Method;
  /** The API's own name of the operation, by which calls are counted. */
  readonly operation: string;
  /** Method and path without ids, for messages. */
  readonly template: string;
  readonly path: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** In addition to the headers of every request. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** The answer to a successful request: 2xx. */
export interface ApiAnswer {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: HttpAnswer["headers"];
  /** Parsed; undefined for an empty body, as after a deletion. */
  readonly body: unknown;
}

/**
 * Returns the `authorization` header; `refused` is the one that the server rejected. Rejects with the fault
 * of its source.
 */
export type Authorize = (refused?: string) => Promise<string>;

/** The parts of a request that a signature may cover. */
export interface SignedRequest {
  readonly method: Method;
  readonly path: string;
  /** As sent. */
  readonly body: string | undefined;
}

/**
 * Signs each attempt; `refused` is the signature that the server rejected with 401. Returning it unchanged
 * means that there is no other.
 */
export type Sign = (request: SignedRequest, refused?: Signature) => Promise<Signature>;

/** Creates a signer that sets only the `authorization` header. */
export function createSigner(authorize: Authorize): Sign {
  return async (_request, refused) => {
    const previous = refused?.headers["authorization"];
    const authorization = await authorize(previous);
    if (refused !== undefined && authorization === previous) return refused;
    return { headers: { authorization }, secrets: [authorization.slice(authorization.indexOf(" ") + 1)] };
  };
}

/**
 * A cloud's JSON API: each request is within the budget, counted, has a deadline, and returns errors as
 * values.
 */
export interface Api {
  /**
   * Sends a request. After a broken connection or a failure of the service it retries GET, PUT and DELETE.
   * The result of an unanswered POST is unknown, and only an observation shows it.
   */
  send(request: ApiRequest, callContext: CallContext): Promise<Outcome<ApiAnswer>>;
  /** Sends a GET and returns its body. */
  get(request: Omit<ApiRequest, "method" | "body">, callContext: CallContext): Promise<Outcome<unknown>>;
}

/** Parts of which an API is built. */
export interface ApiParts {
  readonly client: HttpClient;
  readonly sign: Sign;
  readonly budget: Budget;
  readonly readError: ApiErrorReader;
  readonly userAgent: string;
  readonly sleep: Sleep;
  /** Milliseconds since the epoch. */
  readonly wallClock: () => number;
  /** Random number from 0 to below 1. */
  readonly random: () => number;
}

/**
 * Retries after a broken connection or a failure of the service, each after a random wait below a doubling
 * limit.
 */
const MAX_RETRIES = 2;

const FIRST_RETRY_WITHIN_MS = 250;

export function createApi(parts: ApiParts): Api {
  const { client, sign, budget, readError, userAgent, sleep, wallClock, random } = parts;

  const sendOnce = async (
    { request, signed }: Attempt,
    callContext: CallContext,
    signature: Signature,
  ): Promise<Outcome<ApiAnswer>> => {
    if (callContext.signal.aborted) return { kind: "fault", fault: buildAbortedFault(request.template) };
    const quotaError = await waitForQuota({ budget, sleep }, request.template, callContext);
    if (quotaError !== undefined) return { kind: "fault", fault: quotaError };
    const { operation } = request;
    callContext.meter.called(operation);
    const startedMs = performance.now();
    const recordEnd = (outcome: Outcome<ApiAnswer>): Outcome<ApiAnswer> => {
      const code = outcome.kind === "ok" ? undefined : outcome.fault.code;
      callContext.meter.ended({ operation, durationMs: performance.now() - startedMs, code });
      return outcome;
    };
    const { method, path, body } = signed;
    const headers = {
      accept: "application/json",
      "user-agent": userAgent,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...request.headers,
      ...signature.headers,
    };
    try {
      const answer = await client.send({ method, path, headers, body }, callContext.signal);
      // Before truncation: a truncated secret no longer matches.
      const outcome = classify(answer, request.template, (parsed, httpAnswer) =>
        redactError(readError(parsed, httpAnswer), signature),
      );
      const isThrottled = outcome.kind === "fault" && outcome.fault.code === "Throttled";
      if (isThrottled) callContext.meter.throttled();
      const limit = readRateLimit(answer, wallClock());
      budget.observe(limit, isThrottled);
      if (outcome.kind === "fault")
        return recordEnd(
          limit.retryAfterMs ? { kind: "fault", fault: toRetryLaterFault(outcome.fault) } : outcome,
        );
      const { status, headers: responseHeaders } = answer;
      return recordEnd({ kind: "ok", value: { status, headers: responseHeaders, body: outcome.value } });
    } catch (error) {
      if (callContext.signal.aborted)
        return recordEnd({ kind: "fault", fault: buildAbortedFault(request.template) });
      return recordEnd({ kind: "fault", fault: buildUnansweredFault(error, request.template) });
    }
  };

  const sendSigned = async (request: ApiRequest, callContext: CallContext): Promise<Outcome<ApiAnswer>> => {
    const { method = "GET", path, body } = request;
    const signed = { method, path, body: body === undefined ? undefined : JSON.stringify(body) };
    try {
      const signature = await sign(signed);
      const first = await sendOnce({ request, signed }, callContext, signature);
      if (first.kind === "ok" || first.fault.status !== 401) return redactOutcome(first, signature);
      const renewed = await sign(signed, signature);
      if (renewed === signature) return redactOutcome(first, signature);
      return redactOutcome(await sendOnce({ request, signed }, callContext, renewed), renewed);
    } catch (error) {
      return fault("Denied", `${request.template}: ${getErrorMessage(error)}`);
    }
  };

  const send = async (request: ApiRequest, callContext: CallContext): Promise<Outcome<ApiAnswer>> => {
    for (let retries = 0; ; retries += 1) {
      const outcome = await sendSigned(request, callContext);
      if (outcome.kind === "ok" || outcome.fault.transient !== true) return outcome;
      if (retries === MAX_RETRIES || !REPEATABLE.has(request.method ?? "GET")) return outcome;
      await sleep(random() * FIRST_RETRY_WITHIN_MS * 2 ** retries, callContext.signal);
      if (callContext.signal.aborted) return { kind: "fault", fault: buildAbortedFault(request.template) };
    }
  };

  return {
    send,
    async get(request, callContext) {
      const outcome = await send(request, callContext);
      if (outcome.kind === "fault") return outcome;
      const { status, body } = outcome.value;
      if (body !== undefined) return { kind: "ok", value: body };
      const message = `${request.template}: ${status}, an empty body`;
      return { kind: "fault", fault: { code: "Unavailable", status, message } };
    },
  };
}

/** A request as sent. */
interface Attempt {
  readonly request: ApiRequest;
  readonly signed: SignedRequest;
}

/** Methods whose repetition changes nothing more. */
const REPEATABLE: ReadonlySet<string> = new Set<Method>(["GET", "PUT", "DELETE"]);

/** A call does not retry before the time that the server named. */
function toRetryLaterFault({ transient: _, ...fault }: Fault): Fault {
  return fault;
}

/**
 * Waits for a request's turn; returns a fault if that would take too long. `template` is the request in
 * messages.
 */
async function waitForQuota(
  { budget, sleep }: { readonly budget: Budget; readonly sleep: Sleep },
  template: string,
  { signal, meter }: CallContext,
): Promise<Fault | undefined> {
  let waited = 0;
  for (let wait = budget.take(); wait !== undefined; wait = budget.take()) {
    if (waited + wait > MAX_TURN_WAIT_MS) return buildThrottledFault(template, wait);
    await sleep(wait, signal);
    waited += wait;
    meter.waited(wait);
    if (signal.aborted) return buildAbortedFault(template);
  }
  return undefined;
}

function buildAbortedFault(template: string): Fault {
  return { code: "Aborted", message: `${template}: aborted before it was answered` };
}

function buildThrottledFault(template: string, waitMs: number): Fault {
  const seconds = (waitMs / 1000).toFixed(1);
  return {
    code: "Throttled",
    message: `${template}: this batch's share of the account's quota is spent, the next request may start in ${seconds} s`,
  };
}
