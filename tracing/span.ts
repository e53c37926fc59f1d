import type { TraceContext } from "#core/trace-context.ts";

/** What a span has to say beside its name; nothing in it is a secret. */
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** On which side of a call it was measured. */
export type SpanKind = "internal" | "server" | "client" | "producer" | "consumer";

/** Something that has ended, as it is sent to whoever collects traces. */
export interface Span {
  readonly context: TraceContext;
  readonly parentSpanId: string | undefined;
  /** One of few: whatever differs from one to the next is an attribute. */
  readonly name: string;
  readonly kind: SpanKind;
  /** Milliseconds since the epoch. */
  readonly startMs: number;
  readonly durationMs: number;
  readonly attributes: Attributes;
  /** Of what failed, a code. */
  readonly error: string | undefined;
}

/** Longest value of an attribute, in characters; what clusters call their objects may have any length. */
const MAX_CHARACTERS = 128;

/** Cuts what may be long. */
export function cut(text: string): string {
  return text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS - 1)}…` : text;
}
