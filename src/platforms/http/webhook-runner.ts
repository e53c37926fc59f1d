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
  /** Whether a body is read from a caller at this path; other requests are answered as if they had none. */
  readsBody(path: string): boolean;
  answer(request: WebhookRequest, context: InvocationContext): Promise<WebhookAnswer>;
}

/** Runs webhooks for HTTP requests. */
export interface WebhookRunner {
  run(webhook: Webhook, request: IncomingMessage, response: ServerResponse, path: string): Promise<void>;
}

/** Requests at a time, beside the invocations of functions: a tenant's API server must not take their places. */
const MAX_RUNNING = 16;

/** Creates the runner; a request has this time, with the arrival of its body. */
export function createWebhookRunner(timeoutMs: number): WebhookRunner {
  let running = 0;
  return {
    async run(webhook, request, response, path) {
      const reads = webhook.readsBody(path);
      if (reads && running >= MAX_RUNNING) {
        response.setHeader("retry-after", "1");
        return sendError(
          request,
          response,
          "TooManyInvocations",
          `${MAX_RUNNING} requests are answered already`,
        );
      }
      const deadline = performance.now() + timeoutMs;
      const ending = new AbortController();
      response.once("close", () => ending.abort());
      running += reads ? 1 : 0;
      try {
        const body = reads ? await readBytes(request) : Buffer.alloc(0);
        if (!Buffer.isBuffer(body)) return sendError(request, response, body.code, body.message);
        const asked = {
          method: request.method ?? "",
          path,
          headers: joinHeaders(request),
          body: body.toString("utf8"),
        };
        const {
          statusCode,
          headers,
          body: text,
        } = await webhook.answer(asked, {
          awsRequestId: randomUUID(),
          getRemainingTimeInMillis: () => Math.max(0, deadline - performance.now()),
          signal: ending.signal,
        });
        if (response.destroyed) return;
        response.writeHead(statusCode, { "cache-control": "no-store", ...headers });
        response.end(text);
      } finally {
        running -= reads ? 1 : 0;
      }
    },
  };
}

function joinHeaders({ headers }: IncomingMessage): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}
