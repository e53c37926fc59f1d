import type { Span, SpanKind } from "#tracing/span.ts";

/** OpenTelemetry's numbers for them. */
const KINDS: Readonly<Record<SpanKind, number>> = {
  internal: 1,
  server: 2,
  client: 3,
  producer: 4,
  consumer: 5,
};

const STATUS_ERROR = 2;

/** OTLP's request for spans, in its JSON form. */
export function otlpOf(spans: readonly Span[], resource: Readonly<Record<string, string>>): object {
  return {
    resourceSpans: [
      {
        resource: { attributes: attributesOf(resource) },
        scopeSpans: [{ scope: { name: "serverless-ccm" }, spans: spans.map(spanOf) }],
      },
    ],
  };
}

function spanOf({ context, parentSpanId, name, kind, startMs, durationMs, attributes, error }: Span): object {
  return {
    traceId: context.traceId,
    spanId: context.spanId,
    ...(parentSpanId === undefined ? {} : { parentSpanId }),
    name,
    kind: KINDS[kind],
    startTimeUnixNano: nanosecondsOf(startMs),
    endTimeUnixNano: nanosecondsOf(startMs + Math.max(0, durationMs)),
    attributes: attributesOf(attributes),
    ...(error === undefined ? {} : { status: { code: STATUS_ERROR, message: error } }),
  };
}

function attributesOf(attributes: Span["attributes"]): object[] {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: wireValueOf(value) }],
  );
}

function wireValueOf(value: string | number | boolean): object {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  // Numbers of 64 bits are strings in protobuf's JSON.
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

/** Of more digits than a number has. */
function nanosecondsOf(ms: number): string {
  return String(BigInt(Math.round(ms * 1_000)) * 1_000n);
}
