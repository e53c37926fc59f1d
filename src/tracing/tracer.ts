import { randomBytes } from "node:crypto";
import { Agent as HttpAgent, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import type { TraceContext } from "#core/trace-context.ts";
import type { TracingSettings } from "#tracing/settings.ts";
import type { Attributes, Span, SpanKind } from "#tracing/span.ts";

/** The start of a span. */
export interface SpanStart {
  readonly name: string;
  readonly kind: SpanKind;
  /** The span of another process; without it, the trace begins here. */
  readonly parent?: TraceContext | undefined;
  readonly attributes?: Attributes;
}

/** An operation within another one that has ended. */
export interface EndedSpan {
  readonly name: string;
  readonly kind: SpanKind;
  readonly startMs: number;
  readonly durationMs: number;
  readonly attributes?: Attributes;
  readonly error?: string | undefined;
}

/** A running span; an unsampled one records nothing. */
export interface ActiveSpan {
  readonly context: TraceContext;
  /** Records an operation that ended within it or within a child; returns the operation's context. */
  child(ended: EndedSpan, parent?: TraceContext): TraceContext;
  /** Ends it once; `error` is the code of a failure. */
  end(attributes?: Attributes, error?: string): void;
}

/** Records spans and sends them. A failure only drops spans, which are counted. */
export interface Tracer {
  start(start: SpanStart): ActiveSpan;
  /** Sends the ended spans; resolves when they are accepted or after the limit. Never rejects. */
  flush(limitMs: number): Promise<void>;
  /** Returns the totals of its lifetime. */
  counts(): SpanCounts;
  /** Sends the remaining spans and closes the connection. */
  close(): Promise<void>;
}

/** Counts of spans by result. */
export interface SpanCounts {
  readonly exported: number;
  readonly dropped: number;
  /** Why the last spans were dropped. */
  readonly code: string | undefined;
}

/** Limit of spans that wait to be sent; further ones are dropped. */
const MAX_WAITING = 2_048;

/** Spans in one request. */
const MAX_SENT = 512;

/**
 * Pause after a failed request, so that a caller who waits for each answer does not wait for a dead
 * collector.
 */
const PAUSE_MS = 10_000;

/** Time limit of sending the remaining spans at the end. */
const CLOSE_LIMIT_MS = 2_000;

/** Creates a tracer that sends to the configured collector. */
export function createTracer(
  settings: TracingSettings,
  poster: Poster = createPoster(settings.url, settings.headers),
): Tracer {
  let waiting: Span[] = [];
  let pausedUntilMs = Number.NEGATIVE_INFINITY;
  let exported = 0;
  let dropped = 0;
  let code: string | undefined;

  function drop(spans: number, why: string): void {
    dropped += spans;
    code = why;
  }

  function record(span: Span): void {
    if (!span.context.sampled) return;
    if (waiting.length >= MAX_WAITING) drop(1, "QueueFull");
    else waiting.push(span);
  }

  async function flush(limitMs: number): Promise<void> {
    const endMs = performance.now() + limitMs;
    while (waiting.length > 0) {
      const leftMs = endMs - performance.now();
      if (performance.now() < pausedUntilMs) return discard("Paused");
      if (leftMs <= 0) return discard("TimedOut");
      const batch = waiting.slice(0, MAX_SENT);
      waiting = waiting.slice(MAX_SENT);
      const body = JSON.stringify(toOtlp(batch, settings.resource));
      const failed = await poster.post(body, Math.min(leftMs, settings.timeoutMs));
      if (failed === undefined) exported += batch.length;
      else {
        drop(batch.length, failed);
        pausedUntilMs = performance.now() + PAUSE_MS;
      }
    }
  }

  function discard(why: string): void {
    drop(waiting.length, why);
    waiting = [];
  }

  return {
    start({ name, kind, parent, attributes = {} }) {
      const traceId = parent?.traceId ?? createId(16);
      const sampled = settings.sampler(traceId, parent);
      const context = { traceId, spanId: createId(8), sampled };
      const startMs = Date.now();
      const startedMs = performance.now();
      let isOpen = true;
      return {
        context,
        child(ended, under = context) {
          const own = { ...under, spanId: createId(8) };
          const { attributes: said = {}, error, ...rest } = ended;
          record({ ...rest, context: own, parentSpanId: under.spanId, attributes: said, error });
          return own;
        },
        end(more = {}, error = undefined) {
          if (!isOpen) return;
          isOpen = false;
          const durationMs = performance.now() - startedMs;
          const parentSpanId = parent?.spanId;
          const said = { ...attributes, ...more };
          record({ context, parentSpanId, name, kind, startMs, durationMs, attributes: said, error });
        },
      };
    },
    flush,
    counts: () => ({ exported, dropped, code }),
    async close() {
      await flush(CLOSE_LIMIT_MS);
      poster.close();
    },
  };
}

/** All zeros is invalid, and random bytes practically never give it. */
function createId(bytes: number): string {
  return randomBytes(bytes).toString("hex");
}

/** OpenTelemetry's numbers of span kinds. */
const KINDS: Readonly<Record<SpanKind, number>> = {
  internal: 1,
  server: 2,
  client: 3,
  producer: 4,
  consumer: 5,
};

const STATUS_ERROR = 2;

/** Converts spans to an OTLP request in its JSON form. */
function toOtlp(spans: readonly Span[], resource: Readonly<Record<string, string>>): object {
  return {
    resourceSpans: [
      {
        resource: { attributes: toOtlpAttributes(resource) },
        scopeSpans: [{ scope: { name: "serverless-ccm" }, spans: spans.map(toOtlpSpan) }],
      },
    ],
  };
}

function toOtlpSpan({
  context,
  parentSpanId,
  name,
  kind,
  startMs,
  durationMs,
  attributes,
  error,
}: Span): object {
  return {
    traceId: context.traceId,
    spanId: context.spanId,
    ...(parentSpanId === undefined ? {} : { parentSpanId }),
    name,
    kind: KINDS[kind],
    startTimeUnixNano: formatNanoseconds(startMs),
    endTimeUnixNano: formatNanoseconds(startMs + Math.max(0, durationMs)),
    attributes: toOtlpAttributes(attributes),
    ...(error === undefined ? {} : { status: { code: STATUS_ERROR, message: error } }),
  };
}

function toOtlpAttributes(attributes: Span["attributes"]): object[] {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: toOtlpValue(value) }],
  );
}

function toOtlpValue(value: string | number | boolean): object {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  // Protobuf's JSON has 64-bit numbers as strings.
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

/** The result has more digits than a JavaScript number. */
function formatNanoseconds(ms: number): string {
  return String(BigInt(Math.round(ms * 1_000)) * 1_000n);
}

/** Sends a body to one URL; resolves to an error code, or to undefined on success. Never rejects. */
interface Poster {
  post(body: string, limitMs: number): Promise<string | undefined>;
  close(): void;
}

/** Creates a poster of JSON over one kept-alive connection; it reads only the status of the answer. */
function createPoster(url: URL, headers: Readonly<Record<string, string>>): Poster {
  const isTls = url.protocol === "https:";
  const agent = new (isTls ? HttpsAgent : HttpAgent)({ keepAlive: true, maxSockets: 2 });
  const send = isTls ? requestHttps : requestHttp;

  function once(body: string, signal: AbortSignal): Promise<PostResult> {
    const { promise, resolve } = Promise.withResolvers<PostResult>();
    const failed = (error: unknown): void => {
      // A thawed function finds its connection closed.
      const isStale = outgoing?.reusedSocket === true && !signal.aborted;
      resolve({ code: signal.aborted ? "TimedOut" : getErrorCode(error), isStale });
    };
    let outgoing: ReturnType<typeof requestHttp> | undefined;
    try {
      outgoing = send(url, {
        method: "POST",
        agent,
        signal,
        headers: {
          ...headers,
          "content-type": "application/json",
          "content-length": Buffer.byteLength(body),
        },
      });
    } catch (error) {
      failed(error);
      return promise;
    }
    outgoing.on("error", failed);
    outgoing.on("response", (incoming) => {
      incoming.on("error", failed);
      incoming.on("end", () => resolve(toPostResult(incoming.statusCode ?? 0)));
      incoming.resume();
    });
    outgoing.end(body);
    return promise;
  }

  return {
    async post(body, limitMs) {
      const signal = AbortSignal.timeout(Math.max(1, Math.ceil(limitMs)));
      const first = await once(body, signal);
      return (first.isStale ? await once(body, signal) : first).code;
    },
    close: () => agent.destroy(),
  };
}

interface PostResult {
  readonly code: string | undefined;
  readonly isStale: boolean;
}

function toPostResult(status: number): PostResult {
  return { code: status >= 200 && status < 300 ? undefined : `Status${status}`, isStale: false };
}

/** Returns Node's error code; its messages may quote what was sent. */
function getErrorCode(error: unknown): string {
  if (!(error instanceof Error) || !("code" in error)) return "Failed";
  return typeof error.code === "string" ? error.code : "Failed";
}
