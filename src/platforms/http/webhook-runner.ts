import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { readBytes, sendError } from "#platforms/http/exchange.ts";
import type { InvocationContext } from "#platforms/http/function-runner.ts";

/** A request to a webhook. */
export interface WebhookRequest {
  readonly method: string;
  readonly path: string;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface WebhookAnswer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * Answers callers other than relays, such as API servers, below a path. It authenticates them by itself, whatever the
 * functions ask for.
 */
export interface Webhook {
  /** Its paths begin so, such as `/lb-service/`. */
  readonly pathPrefix: string;
  /** Returns the name of a known caller. Of a stranger no body is read: the request is answered as if it had none. */
  identify(path: string, headers: WebhookRequest["headers"]): string | undefined;
  answer(request: WebhookRequest, context: InvocationContext): Promise<WebhookAnswer>;
}

/** Runs webhooks for HTTP requests. */
export interface WebhookRunner {
  run(webhook: Webhook, request: IncomingMessage, response: ServerResponse, path: string): Promise<void>;
}

/** Requests of one caller at a time: a tenant's API server must not take the places of others. */
const MAX_OF_CALLER = 8;

/**
 * Creates the runner. `limit` is the maximum number of requests at a time, beside the invocations of functions. A
 * request has `timeoutMs`, with the arrival of its body.
 */
export function createWebhookRunner(limit: number, timeoutMs: number): WebhookRunner {
  let running = 0;
  const runningOf = new Map<string, number>();

  function count(caller: string, change: 1 | -1): void {
    running += change;
    const left = (runningOf.get(caller) ?? 0) + change;
    if (left === 0) runningOf.delete(caller);
    else runningOf.set(caller, left);
  }

  return {
    async run(webhook, request, response, path) {
      const headers = joinHeaders(request);
      const caller = webhook.identify(path, headers);
      if (caller !== undefined && (running >= limit || (runningOf.get(caller) ?? 0) >= MAX_OF_CALLER)) {
        response.setHeader("retry-after", "1");
        return sendError(request, response, "TooManyInvocations", "too many requests are answered already");
      }
      const deadline = performance.now() + timeoutMs;
      const ending = new AbortController();
      response.once("close", () => ending.abort());
      if (caller !== undefined) count(caller, 1);
      try {
        const body = caller === undefined ? Buffer.alloc(0) : await readBytes(request);
        if (!Buffer.isBuffer(body)) return sendError(request, response, body.code, body.message);
        const asked = {
          method: request.method ?? "",
          path,
          headers,
          body: body.toString("utf8"),
        };
        const answer = await webhook.answer(asked, {
          awsRequestId: randomUUID(),
          getRemainingTimeInMillis: () => Math.max(0, deadline - performance.now()),
          signal: ending.signal,
        });
        if (response.destroyed) return;
        response.writeHead(answer.statusCode, { "cache-control": "no-store", ...answer.headers });
        response.end(answer.body);
      } finally {
        if (caller !== undefined) count(caller, -1);
      }
    },
  };
}

function joinHeaders({ headers }: IncomingMessage): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}
