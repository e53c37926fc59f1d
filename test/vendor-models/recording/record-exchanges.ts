import { createHash } from "node:crypto";
import { subscribe } from "node:diagnostics_channel";
import { appendFileSync } from "node:fs";
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { join } from "node:path";
import { threadId } from "node:worker_threads";
import { beforeEach } from "vitest";
import { type Exchange, RECORDING_FOLDER } from "#test/vendor-models/recording/exchange.ts";

// A setup file of vitest. It taps every HTTP server of the process, so that no emulator has code for it.

/** The state of a worker. A worker evaluates this file anew for each test file, and must tap its servers once. */
interface Tap {
  file: string;
  test: string;
}

const KEY = Symbol.for("serverless-ccm.vendor-models.tap");
const all = globalThis as { [KEY]?: Tap };

all[KEY] ??= startTap();
const tap = all[KEY];
beforeEach(({ task }) => {
  tap.file = task.file.name;
  tap.test = task.name;
});

function startTap(): Tap {
  const folder = process.env[RECORDING_FOLDER];
  if (folder === undefined)
    throw new Error(`${RECORDING_FOLDER} is not set: run the recording through recordSuites`);
  const path = join(folder, `${process.pid}-${threadId}.jsonl`);
  const state: Tap = { file: "", test: "" };
  const written = new Set<string>();
  subscribe("http.server.request.start", (message) => {
    const { request, response } = message as { request: IncomingMessage; response: ServerResponse };
    const { file, test } = state;
    followExchange(request, response, (exchange) => {
      const line = JSON.stringify({ file, test, ...exchange } satisfies Exchange);
      // A test repeats most of its exchanges; one of each suffices. Which tests share a worker must not matter.
      const hash = createHash("sha256").update(line).digest("base64");
      if (written.has(hash)) return;
      written.add(hash);
      appendFileSync(path, `${line}\n`);
    });
  });
  return state;
}

/** Calls `onEnd` with the exchange as soon as the response is closed, whether or not it was sent. */
function followExchange(
  request: IncomingMessage,
  response: ServerResponse,
  onEnd: (exchange: Omit<Exchange, "file" | "test">) => void,
): void {
  const sent = collectChunks(request, "push");
  const answered = collectChunks(response, "write", "end");
  let headers: OutgoingHttpHeaders = {};
  const writeHead = response.writeHead.bind(response) as (...args: unknown[]) => ServerResponse;
  response.writeHead = (...args: unknown[]) => {
    const given = args.at(-1);
    if (typeof given === "object" && given !== null) headers = given as OutgoingHttpHeaders;
    return writeHead(...args);
  };
  response.once("close", () => {
    onEnd({
      method: request.method ?? "",
      target: request.url ?? "",
      requestHeaders: toTexts(request.headers),
      requestBody: sent(),
      status: response.headersSent ? response.statusCode : 0,
      answerHeaders: toTexts({ ...response.getHeaders(), ...headers }),
      answerBody: answered(),
    });
  });
}

/** Wraps methods that take chunks, and returns a function that returns the chunks' text. */
function collectChunks(stream: object, ...methods: readonly string[]): () => string {
  const chunks: Buffer[] = [];
  const each = stream as Record<string, (...args: unknown[]) => unknown>;
  for (const name of methods) {
    const method = each[name]?.bind(stream);
    each[name] = (...args) => {
      const [chunk] = args;
      if (typeof chunk === "string") chunks.push(Buffer.from(chunk));
      else if (chunk instanceof Uint8Array) chunks.push(Buffer.from(chunk));
      return method?.(...args);
    };
  }
  return () => Buffer.concat(chunks).toString("utf8");
}

/** Headers that judges read; others differ in each request and would defeat the search for repetitions. */
const READ = [
  "content-type",
  "x-openstack-nova-api-version",
  "if-match",
  "opc-retry-token",
  "opc-next-page",
  "opc-work-request-id",
  "etag",
];

function toTexts(headers: Readonly<Record<string, unknown>>): Record<string, string> {
  const texts = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)] as const);
  return Object.fromEntries(texts.filter(([name]) => READ.includes(name)));
}
