import type { TraceContext } from "#core/trace-context.ts";

/** The attributes of a span; they hold no secrets. */
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** The side of a call that was measured. */
export type SpanKind = "internal" | "server" | "client" | "producer" | "consumer";

/** An ended operation, as sent to the trace collector. */
export interface Span {
  readonly context: TraceContext;
  readonly parentSpanId: string | undefined;
  /** One of a few names; details are attributes. */
  readonly name: string;
  readonly kind: SpanKind;
  /** Milliseconds since the epoch. */
  readonly startMs: number;
  readonly durationMs: number;
  readonly attributes: Attributes;
  /** The code of a failure. */
  readonly error: string | undefined;
}

/** Longest attribute value in characters; object names in clusters may have any length. */
const MAX_CHARACTERS = 128;

/** Truncates text to that length. */
export function cut(text: string): string {
  return text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS - 1)}…` : text;
}
