import * as z from "zod";

/** A position in a trace, which its children name as their parent. */
export interface TraceContext {
  /** 32 hexadecimal digits, not all of them 0. */
  readonly traceId: string;
  /** 16 hexadecimal digits, not all of them 0. */
  readonly spanId: string;
  /** Whether the creator of the trace has it recorded. */
  readonly sampled: boolean;
}

/** The format of W3C's Trace Context; versions after 00 may add text after these fields and a hyphen. */
const TRACE_PARENT =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Longer than any existing one. */
const MAX_CHARACTERS = 128;

const SAMPLED = 0x01;

/** Parses a `traceparent`; undefined if it is invalid. */
export function parseTraceParent(text: string): TraceContext | undefined {
  const [, version, traceId, spanId, flags = "", more] =
    TRACE_PARENT.exec(text.slice(0, MAX_CHARACTERS)) ?? [];
  if (traceId === undefined || spanId === undefined) return undefined;
  if (version === "00" && more !== undefined) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED };
}

/** Returns the text of a `traceparent`. */
export function formatTraceParent({ traceId, spanId, sampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${sampled ? "01" : "00"}`;
}

/** An optional `traceparent`: an invalid one is dropped, because it says nothing about its event. */
export const TraceParent = z
  .string()
  .refine((text) => parseTraceParent(text) !== undefined)
  .optional()
  .catch(undefined);
