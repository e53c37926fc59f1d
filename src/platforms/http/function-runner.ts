import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { getErrorMessage, sanitizeText } from "#core/sanitize-text.ts";
import { readBytes, sendError, TOO_LARGE } from "#platforms/http/exchange.ts";
import {
  buildCloudEventHeaders,
  type ErrorCode,
  JSON_TYPE,
  MAX_ANSWER_BYTES,
  MAX_REQUEST_BYTES,
  TIMEOUT_HEADER,
} from "#platforms/http/protocol.ts";

/** What a function gets of its invocation; that of Lambda, as far as functions use it. */
export interface InvocationContext {
  readonly awsRequestId: string;
  getRemainingTimeInMillis(): number;
  /** Fires when the caller is gone, or the time is up: from then on nothing new may start. */
  readonly signal: AbortSignal;
}

/** A function as the server runs it: JSON in, JSON out. A thrown error means a failed invocation. */
export type ServedFunction = (event: unknown, context: InvocationContext) => Promise<unknown>;

export interface FunctionRunnerOptions {
  readonly functions: ReadonlyMap<string, ServedFunction>;
  readonly concurrency: number;
  readonly functionTimeoutMs: number;
}

/** Runs functions for HTTP requests. */
export interface FunctionRunner {
  /** Answers a request of a caller who may invoke the function. */
  run(name: string, request: IncomingMessage, response: ServerResponse): Promise<void>;
  /** Resolves with true when no function runs, or with false when the signal fires before. */
  idle(signal: AbortSignal): Promise<boolean>;
  /** Fires the signal of every running function. */
  abort(): void;
}

/** Codes of errors by which functions reject an event as a whole: nothing was done. */
const REJECTIONS: ReadonlySet<unknown> = new Set(["EventRejected", "SweepRejected", "Ec2EventRejected"]);

const MAX_MESSAGE_CHARACTERS = 2_000;

type Outcome =
  | { readonly kind: "answer"; readonly text: string; readonly id: string }
  | { readonly kind: "error"; readonly code: ErrorCode; readonly message: string };

/**
 * Creates the runner. An invocation holds its permit until its function has ended, whatever was answered, and until
 * the caller has the answer or is gone.
 */
export function createFunctionRunner(options: FunctionRunnerOptions): FunctionRunner {
  const { functions, concurrency, functionTimeoutMs } = options;
  const running = new Set<AbortController>();
  const waiting = new Set<() => void>();

  function ended(invocation: AbortController): void {
    running.delete(invocation);
    if (running.size > 0) return;
    for (const wake of waiting) wake();
  }

  return {
    async run(name, request, response) {
      const startedMs = performance.now();
      const refuse = (code: ErrorCode, message: string): void => sendError(request, response, code, message);
      const fault = checkHeaders(request);
      if (fault !== undefined) return refuse(...fault);
      if (running.size >= concurrency) {
        response.setHeader("retry-after", "1");
        return refuse("TooManyInvocations", `${concurrency} invocations are running already`);
      }
      const invocation = new AbortController();
      running.add(invocation);
      const answered = new Promise<void>((resolve) => {
        response.once("close", () => {
          if (!response.writableFinished) invocation.abort();
          resolve();
        });
      });
      let ending: Promise<unknown> = Promise.resolve();
      void answered.then(() => ending).then(() => ended(invocation));
      const body = await readBody(request);
      if (body.kind === "error") return refuse(body.code, body.message);
      const limitMs = Math.min(readTimeoutMs(request) ?? functionTimeoutMs, functionTimeoutMs);
      const deadline = startedMs + limitMs;
      const context: InvocationContext = {
        awsRequestId: randomUUID(),
        getRemainingTimeInMillis: () => Math.max(0, deadline - performance.now()),
        signal: invocation.signal,
      };
      const invoked = invoke(functions.get(name), body.value, context);
      ending = invoked;
      const outcome = await endBy(invoked, deadline, invocation);
      if (outcome.kind === "error") return refuse(outcome.code, outcome.message);
      const { text, id } = outcome;
      response.writeHead(200, {
        ...buildCloudEventHeaders(id, `/functions/${name}`, "serverless-ccm.report"),
        "content-type": JSON_TYPE,
        "content-length": Buffer.byteLength(text),
        "cache-control": "no-store",
      });
      response.end(text);
    },

    idle(signal) {
      if (running.size === 0) return Promise.resolve(true);
      return new Promise((resolve) => {
        const end = (): void => {
          waiting.delete(end);
          signal.removeEventListener("abort", end);
          resolve(running.size === 0);
        };
        waiting.add(end);
        if (signal.aborted) end();
        else signal.addEventListener("abort", end, { once: true });
      });
    },

    abort() {
      for (const invocation of running) invocation.abort();
    },
  };
}

type Fault = readonly [code: ErrorCode, message: string];

function checkHeaders({ headers }: IncomingMessage): Fault | undefined {
  const [type = "", ...parameters] = (headers["content-type"] ?? "").toLowerCase().split(";");
  const isUtf8 = parameters.every(
    (each) => !/^\s*charset=/.test(each) || /^\s*charset="?utf-8"?\s*$/.test(each),
  );
  if (type.trim() !== JSON_TYPE || !isUtf8)
    return ["UnsupportedMediaType", `send the event as ${JSON_TYPE}, in UTF-8`];
  const encoding = headers["content-encoding"] ?? "identity";
  if (encoding.toLowerCase() !== "identity")
    return ["UnsupportedMediaType", "send the event without an encoding"];
  const timeout = headers[TIMEOUT_HEADER];
  if (timeout !== undefined && !/^\d{1,9}$/.test(String(timeout)))
    return ["EventRejected", `${TIMEOUT_HEADER} is not a number of milliseconds`];
  if (Number(headers["content-length"] ?? 0) > MAX_REQUEST_BYTES) return [TOO_LARGE.code, TOO_LARGE.message];
  return undefined;
}

function readTimeoutMs({ headers }: IncomingMessage): number | undefined {
  const timeout = headers[TIMEOUT_HEADER];
  return timeout === undefined ? undefined : Number(timeout);
}

type Body =
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "error"; readonly code: ErrorCode; readonly message: string };

async function readBody(request: IncomingMessage): Promise<Body> {
  const bytes = await readBytes(request);
  if (!Buffer.isBuffer(bytes)) return bytes;
  try {
    return { kind: "value", value: JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) };
  } catch {
    return {
      kind: "error",
      code: "EventRejected",
      message: "the body is not JSON in UTF-8; nothing was done",
    };
  }
}

async function invoke(
  invoked: ServedFunction | undefined,
  event: unknown,
  context: InvocationContext,
): Promise<Outcome> {
  try {
    if (invoked === undefined) throw new Error("the function is missing");
    const answer = await invoked(event, context);
    const text = JSON.stringify(answer) ?? "null";
    if (Buffer.byteLength(text) > MAX_ANSWER_BYTES)
      return {
        kind: "error",
        code: "FunctionError",
        message: `its answer has more than ${MAX_ANSWER_BYTES} bytes`,
      };
    return { kind: "answer", text, id: readId(answer) ?? context.awsRequestId };
  } catch (error) {
    const message = sanitizeText(getErrorMessage(error), MAX_MESSAGE_CHARACTERS);
    const isRejection = error instanceof Error && "code" in error && REJECTIONS.has(error.code);
    return { kind: "error", code: isRejection ? "EventRejected" : "FunctionError", message };
  }
}

function readId(answer: unknown): string | undefined {
  return typeof answer === "object" && answer !== null && "id" in answer && typeof answer.id === "string"
    ? answer.id
    : undefined;
}

/** Waits until the deadline; then the function is told to start nothing new, and the answer says that it may run. */
async function endBy(
  ending: Promise<Outcome>,
  deadline: number,
  invocation: AbortController,
): Promise<Outcome> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Outcome>((resolve) => {
    timer = setTimeout(
      () => {
        invocation.abort();
        resolve({ kind: "error", code: "TimedOut", message: "the function did not end in its time" });
      },
      Math.max(0, deadline - performance.now()),
    );
  });
  try {
    return await Promise.race([ending, late]);
  } finally {
    clearTimeout(timer);
  }
}
