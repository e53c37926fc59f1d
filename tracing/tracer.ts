import { randomBytes } from "node:crypto";
import type { TraceContext } from "#core/trace-context.ts";
import { otlpOf } from "#tracing/otlp.ts";
import { createPoster, type Poster } from "#tracing/post.ts";
import type { TracingSettings } from "#tracing/settings.ts";
import type { Attributes, Span, SpanKind } from "#tracing/span.ts";

/** How a span begins. */
export interface SpanStart {
  readonly name: string;
  readonly kind: SpanKind;
  /** Of another process; the trace begins here without it. */
  readonly parent?: TraceContext | undefined;
  readonly attributes?: Attributes;
}

/** Something that went on within another one, and has ended. */
export interface EndedSpan {
  readonly name: string;
  readonly kind: SpanKind;
  readonly startMs: number;
  readonly durationMs: number;
  readonly attributes?: Attributes;
  readonly error?: string | undefined;
}

/** A span that goes on; one that is not sampled records nothing. */
export interface ActiveSpan {
  readonly context: TraceContext;
  /** Records what ended within it, or within a child of it; answers with that one's own context. */
  child(ended: EndedSpan, parent?: TraceContext): TraceContext;
  /** Ends it, once; `error` is the code of what failed. */
  end(attributes?: Attributes, error?: string): void;
}

/** Records spans and sends them on; whatever goes wrong costs spans, which are counted, and nothing else. */
export interface Tracer {
  start(start: SpanStart): ActiveSpan;
  /** Sends what has ended by now and resolves when it has been taken, or after the limit. Never rejects. */
  flush(limitMs: number): Promise<void>;
  /** Of all its life. */
  counts(): SpanCounts;
  /** Sends what is left, and closes the connection. */
  close(): Promise<void>;
}

/** What became of spans. */
export interface SpanCounts {
  readonly exported: number;
  readonly dropped: number;
  /** Why some were dropped last. */
  readonly code: string | undefined;
}

/** Spans that wait to be sent at most; those beyond are dropped. */
const MAX_WAITING = 2_048;

/** In one request. */
const MAX_SENT = 512;

/** After a request that failed nothing is sent for so long: whoever waits for each answer must not wait for a dead collector. */
const PAUSE_MS = 10_000;

/** What is left at the end is sent within so long. */
const CLOSE_LIMIT_MS = 2_000;

/** A tracer that sends to where the settings say. */
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
      const body = JSON.stringify(otlpOf(batch, settings.resource));
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
      const traceId = parent?.traceId ?? newId(16);
      const sampled = settings.sampler(traceId, parent);
      const context = { traceId, spanId: newId(8), sampled };
      const startMs = Date.now();
      const startedMs = performance.now();
      let isOpen = true;
      return {
        context,
        child(ended, under = context) {
          const own = { ...under, spanId: newId(8) };
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

/** Neither of the two may be all zeros, which chance does not bring about. */
function newId(bytes: number): string {
  return randomBytes(bytes).toString("hex");
}
