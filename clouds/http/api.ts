import { hushed, withoutSecrets } from "#clouds/http/blot.ts";
import type { Budget } from "#clouds/http/budget.ts";
import { classify, type ReadCloudError, unanswered } from "#clouds/http/classify.ts";
import type { HttpAnswer, HttpClient, Method } from "#clouds/http/client.ts";
import type { Meter } from "#clouds/http/meter.ts";
import type { Fault, Outcome } from "#clouds/http/outcome.ts";
import { readRateLimit } from "#clouds/http/rate-limit.ts";
import { abortedFault, takeTurn } from "#clouds/http/take-turn.ts";
import { fault } from "#clouds/outcome.ts";
import type { Sleep } from "#clouds/sleep.ts";
import { messageOf } from "#core/message-of.ts";

/** What one request is; a GET without `method`. */
export interface ApiRequest {
  readonly method?: Method;
  /** The API's own name of the operation, by which calls are counted. */
  readonly operation: string;
  /** Method and path without ids, as messages name it. */
  readonly template: string;
  readonly path: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Beside those that every request has. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** What a request was answered with: 2xx. */
export interface ApiAnswer {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: HttpAnswer["headers"];
  /** Parsed; undefined where there was none, as after a deletion. */
  readonly body: unknown;
}

/** On whose behalf requests are sent: when to stop, and who counts them. */
export interface Turn {
  readonly signal: AbortSignal;
  readonly meter: Meter;
}

/** The `authorization` header; `refused` is one that the server did not accept. Rejects with what is wrong with its source. */
export type Authorize = (refused?: string) => Promise<string>;

/** What of a request a signature may cover. */
export interface SignedRequest {
  readonly method: Method;
  readonly path: string;
  /** As it is sent. */
  readonly body: string | undefined;
}

/** Headers by which a server knows who asks, and what of them is repeated nowhere: texts, none of them empty. */
export interface Signature {
  readonly headers: Readonly<Record<string, string>>;
  readonly secrets: readonly string[];
}

/** Signs each attempt; `refused` is what the server has just answered 401 to, which given back as it is means that there is no other. */
export type Sign = (request: SignedRequest, refused?: Signature) => Promise<Signature>;

/** By the `authorization` header alone. */
export function signedBy(authorize: Authorize): Sign {
  return async (_request, refused) => {
    const before = refused?.headers["authorization"];
    const authorization = await authorize(before);
    if (refused !== undefined && authorization === before) return refused;
    return { headers: { authorization }, secrets: [authorization.slice(authorization.indexOf(" ") + 1)] };
  };
}

/** A cloud's JSON API: each request within the budget, counted, with an end, and its errors as values. */
export interface Api {
  /**
   * What is repeated after a broken connection or a failure on the service's side is what may be: GET, PUT and DELETE. Of a POST that was
   * not answered nothing is known, and only looking tells.
   */
  send(request: ApiRequest, turn: Turn): Promise<Outcome<ApiAnswer>>;
  /** The body of a GET. */
  get(request: Omit<ApiRequest, "method" | "body">, turn: Turn): Promise<Outcome<unknown>>;
}

/** What an API is made of. */
export interface ApiParts {
  readonly client: HttpClient;
  readonly sign: Sign;
  readonly budget: Budget;
  readonly readError: ReadCloudError;
  readonly userAgent: string;
  readonly sleep: Sleep;
  /** Milliseconds since the epoch. */
  readonly wallClock: () => number;
  /** From 0 to below 1. */
  readonly random: () => number;
}

/** Further attempts after a broken connection or a failure on the service's side, each after a random wait below a doubling limit. */
const MAX_RETRIES = 2;
const FIRST_RETRY_WITHIN_MS = 250;

export function createApi(parts: ApiParts): Api {
  const { client, sign, budget, readError, userAgent, sleep, wallClock, random } = parts;

  const attempt = async (
    { request, signed }: Attempt,
    turn: Turn,
    signature: Signature,
  ): Promise<Outcome<ApiAnswer>> => {
    if (turn.signal.aborted) return { kind: "fault", fault: abortedFault(request.template) };
    const noTurn = await takeTurn({ budget, sleep }, request.template, turn);
    if (noTurn !== undefined) return { kind: "fault", fault: noTurn };
    const { operation } = request;
    turn.meter.called(operation);
    const startedMs = performance.now();
    const ended = (outcome: Outcome<ApiAnswer>): Outcome<ApiAnswer> => {
      const code = outcome.kind === "ok" ? undefined : outcome.fault.code;
      turn.meter.ended({ operation, durationMs: performance.now() - startedMs, code });
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
      const answer = await client.send({ method, path, headers, body }, turn.signal);
      // Before words are cut: half a secret would not be known as one.
      const outcome = classify(answer, request.template, (parsed, said) =>
        hushed(readError(parsed, said), signature),
      );
      const isThrottled = outcome.kind === "fault" && outcome.fault.code === "Throttled";
      if (isThrottled) turn.meter.throttled();
      const limit = readRateLimit(answer, wallClock());
      budget.observe(limit, isThrottled);
      if (outcome.kind === "fault")
        return ended(limit.retryAfterMs ? { kind: "fault", fault: forLater(outcome.fault) } : outcome);
      const { status, headers: said } = answer;
      return ended({ kind: "ok", value: { status, headers: said, body: outcome.value } });
    } catch (error) {
      if (turn.signal.aborted) return ended({ kind: "fault", fault: abortedFault(request.template) });
      return ended({ kind: "fault", fault: unanswered(error, request.template) });
    }
  };

  const authorized = async (request: ApiRequest, turn: Turn): Promise<Outcome<ApiAnswer>> => {
    const { method = "GET", path, body } = request;
    const signed = { method, path, body: body === undefined ? undefined : JSON.stringify(body) };
    try {
      const signature = await sign(signed);
      const first = await attempt({ request, signed }, turn, signature);
      if (first.kind === "ok" || first.fault.status !== 401) return withoutSecrets(first, signature);
      const next = await sign(signed, signature);
      if (next === signature) return withoutSecrets(first, signature);
      return withoutSecrets(await attempt({ request, signed }, turn, next), next);
    } catch (error) {
      return fault("Denied", `${request.template}: ${messageOf(error)}`);
    }
  };

  const send = async (request: ApiRequest, turn: Turn): Promise<Outcome<ApiAnswer>> => {
    for (let retries = 0; ; retries += 1) {
      const outcome = await authorized(request, turn);
      if (outcome.kind === "ok" || outcome.fault.transient !== true) return outcome;
      if (retries === MAX_RETRIES || !REPEATABLE.has(request.method ?? "GET")) return outcome;
      await sleep(random() * FIRST_RETRY_WITHIN_MS * 2 ** retries, turn.signal);
      if (turn.signal.aborted) return { kind: "fault", fault: abortedFault(request.template) };
    }
  };

  return {
    send,
    async get(request, turn) {
      const outcome = await send(request, turn);
      if (outcome.kind === "fault") return outcome;
      const { status, body } = outcome.value;
      if (body !== undefined) return { kind: "ok", value: body };
      const message = `${request.template}: ${status}, an empty body`;
      return { kind: "fault", fault: { code: "Unavailable", status, message } };
    },
  };
}

/** A request as it goes out. */
interface Attempt {
  readonly request: ApiRequest;
  readonly signed: SignedRequest;
}

/** What comes to the same however often it is sent. */
const REPEATABLE: ReadonlySet<string> = new Set<Method>(["GET", "PUT", "DELETE"]);

/** Whoever says when to come back is not asked again before by the same call. */
function forLater({ transient: _, ...fault }: Fault): Fault {
  return fault;
}
