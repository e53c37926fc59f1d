import { type Budget, MAX_TURN_WAIT_MS } from "#clouds/http/budget.ts";
import { classify, type ReadCloudError, unanswered } from "#clouds/http/classify.ts";
import type { HttpClient } from "#clouds/http/client.ts";
import type { Meter } from "#clouds/http/meter.ts";
import type { Fault, Outcome } from "#clouds/http/outcome.ts";
import { readRateLimit } from "#clouds/http/rate-limit.ts";
import { fault } from "#clouds/outcome.ts";
import type { Sleep } from "#clouds/sleep.ts";
import { messageOf } from "#core/message-of.ts";

/** What one GET is. */
export interface ApiRequest {
  /** The API's own name of the operation, by which calls are counted. */
  readonly operation: string;
  /** Method and path without ids, as messages name it. */
  readonly template: string;
  readonly path: string;
}

/** On whose behalf requests are sent: when to stop, and who counts them. */
export interface Turn {
  readonly signal: AbortSignal;
  readonly meter: Meter;
}

/** The `authorization` header; `refused` is one that the server did not accept. Rejects with what is wrong with its source. */
export type Authorize = (refused?: string) => Promise<string>;

/** A cloud's JSON API: each request within the budget, counted, with an end, and its errors as values. */
export interface Api {
  get(request: ApiRequest, turn: Turn): Promise<Outcome<unknown>>;
}

/** What an API is made of. */
export interface ApiParts {
  readonly client: HttpClient;
  readonly authorize: Authorize;
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
  const { client, authorize, budget, readError, userAgent, sleep, wallClock, random } = parts;

  const turnOf = async (request: ApiRequest, { signal, meter }: Turn): Promise<Fault | undefined> => {
    let waited = 0;
    for (let wait = budget.take(); wait !== undefined; wait = budget.take()) {
      if (waited + wait > MAX_TURN_WAIT_MS) return spent(request, wait);
      await sleep(wait, signal);
      waited += wait;
      meter.waited(wait);
      if (signal.aborted) return aborted(request);
    }
    return undefined;
  };

  const attempt = async (request: ApiRequest, turn: Turn, header: string): Promise<Outcome<unknown>> => {
    if (turn.signal.aborted) return { kind: "fault", fault: aborted(request) };
    const noTurn = await turnOf(request, turn);
    if (noTurn !== undefined) return { kind: "fault", fault: noTurn };
    const { operation } = request;
    turn.meter.called(operation);
    const startedMs = performance.now();
    const ended = (outcome: Outcome<unknown>): Outcome<unknown> => {
      const code = outcome.kind === "ok" ? undefined : outcome.fault.code;
      turn.meter.ended({ operation, durationMs: performance.now() - startedMs, code });
      return outcome;
    };
    const headers = { accept: "application/json", "user-agent": userAgent, authorization: header };
    try {
      const answer = await client.get(request.path, headers, turn.signal);
      const isThrottled = answer.status === 429;
      if (isThrottled) turn.meter.throttled();
      budget.observe(readRateLimit(answer, wallClock()), isThrottled);
      return ended(classify(answer, request.template, readError));
    } catch (error) {
      if (turn.signal.aborted) return ended({ kind: "fault", fault: aborted(request) });
      return ended({ kind: "fault", fault: unanswered(error, request.template) });
    }
  };

  const authorized = async (request: ApiRequest, turn: Turn): Promise<Outcome<unknown>> => {
    let header = "";
    try {
      header = await authorize();
      const first = await attempt(request, turn, header);
      if (first.kind === "ok" || first.fault.status !== 401) return withoutSecret(first, header);
      const next = await authorize(header);
      if (next === header) return withoutSecret(first, header);
      header = next;
      return withoutSecret(await attempt(request, turn, header), header);
    } catch (error) {
      return fault("Denied", `${request.template}: ${messageOf(error)}`);
    }
  };

  return {
    async get(request, turn) {
      for (let retries = 0; ; retries += 1) {
        const outcome = await authorized(request, turn);
        if (outcome.kind === "ok" || outcome.fault.transient !== true) return outcome;
        if (retries === MAX_RETRIES) return outcome;
        await sleep(random() * FIRST_RETRY_WITHIN_MS * 2 ** retries, turn.signal);
        if (turn.signal.aborted) return { kind: "fault", fault: aborted(request) };
      }
    },
  };
}

/** Should a server repeat what it was sent, its words are not passed on. */
function withoutSecret(outcome: Outcome<unknown>, header: string): Outcome<unknown> {
  if (outcome.kind === "ok") return outcome;
  const secret = header.slice(header.indexOf(" ") + 1);
  return {
    kind: "fault",
    fault: { ...outcome.fault, message: outcome.fault.message.replaceAll(secret, "…") },
  };
}

function aborted({ template }: ApiRequest): Fault {
  return { code: "Aborted", message: `${template}: aborted before it was answered` };
}

function spent({ template }: ApiRequest, waitMs: number): Fault {
  const seconds = (waitMs / 1000).toFixed(1);
  return {
    code: "Throttled",
    message: `${template}: this batch's share of the account's quota is spent, the next request may go in ${seconds} s`,
  };
}
