import type { Span, SpanKind } from "#tracing/span.ts";

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
export function toOtlp(spans: readonly Span[], resource: Readonly<Record<string, string>>): object {
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
