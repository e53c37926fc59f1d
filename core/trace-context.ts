import * as z from "zod";

/** Where in a trace something stands: what follows from it names it as its parent. */
export interface TraceContext {
  /** 32 hexadecimal digits, not all of them 0. */
  readonly traceId: string;
  /** 16 hexadecimal digits, not all of them 0. */
  readonly spanId: string;
  /** Whether whoever began the trace has it recorded. */
  readonly sampled: boolean;
}

/** As W3C's Trace Context writes it; a later version than 00 may say more, after these fields and a hyphen. */
const TRACE_PARENT =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Longer than any that there is. */
const MAX_CHARACTERS = 128;

const SAMPLED = 0x01;

/** Reads a `traceparent`; undefined for whatever is none. */
export function parseTraceParent(text: string): TraceContext | undefined {
  const [, version, traceId, spanId, flags = "", more] =
    TRACE_PARENT.exec(text.slice(0, MAX_CHARACTERS)) ?? [];
  if (traceId === undefined || spanId === undefined) return undefined;
  if (version === "00" && more !== undefined) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED };
}

/** Writes a `traceparent`. */
export function traceParentOf({ traceId, spanId, sampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${sampled ? "01" : "00"}`;
}

/** A `traceparent` where there is one: what is none says nothing of the event that it came with, and is dropped. */
export const TraceParent = z
  .string()
  .refine((text) => parseTraceParent(text) !== undefined)
  .optional()
  .catch(undefined);
