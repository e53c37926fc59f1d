import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import * as z from "zod";

const Value = z.union([
  z.strictObject({ stringValue: z.string() }),
  z.strictObject({ boolValue: z.boolean() }),
  // What OTLP writes in JSON for 64 bits.
  z.strictObject({
    intValue: z
      .string()
      .regex(/^-?\d+$/)
      .transform(Number),
  }),
  z.strictObject({ doubleValue: z.number() }),
]);

const Attributes = z
  .array(z.strictObject({ key: z.string().min(1), value: Value }))
  .transform((all) => Object.fromEntries(all.map(({ key, value }) => [key, Object.values(value)[0]])));

const Nanoseconds = z.string().regex(/^\d+$/);

/** A span in OTLP's JSON; unknown fields are rejected. */
const ReceivedSpan = z.strictObject({
  traceId: z.string().regex(/^[0-9a-f]{32}$/),
  spanId: z.string().regex(/^[0-9a-f]{16}$/),
  parentSpanId: z
    .string()
    .regex(/^[0-9a-f]{16}$/)
    .optional(),
  name: z.string().min(1),
  kind: z.int().min(1).max(5),
  startTimeUnixNano: Nanoseconds,
  endTimeUnixNano: Nanoseconds,
  attributes: Attributes,
  status: z.strictObject({ code: z.literal(2), message: z.string() }).optional(),
});

const Request = z.strictObject({
  resourceSpans: z.array(
    z.strictObject({
      resource: z.strictObject({ attributes: Attributes }),
      scopeSpans: z.array(
        z.strictObject({ scope: z.strictObject({ name: z.string() }), spans: z.array(ReceivedSpan).min(1) }),
      ),
    }),
  ),
});

/** A span, and which process it is of. */
export interface Received extends z.output<typeof ReceivedSpan> {
  readonly service: unknown;
}

/**
 * A collector of traces that keeps what it is sent; a request that OTLP does not have is answered with 400,
 * and remembered.
 */
export interface OtlpReceiver {
  /** For OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly url: string;
  readonly spans: readonly Received[];
  readonly faults: readonly string[];
  /** The headers of each request. */
  readonly headers: readonly NodeJS.Dict<string | string[]>[];
  /** From now on it takes requests and does not answer. */
  hang(): void;
  /** Ends the connections that are open. */
  dropConnections(): void;
  close(): Promise<void>;
}

/** Starts one on a free port; the caller closes it. */
export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: Received[] = [];
  const faults: string[] = [];
  const headers: NodeJS.Dict<string | string[]>[] = [];
  let isHanging = false;
  const server = createServer(async (incoming, outgoing) => {
    headers.push(incoming.headers);
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    if (isHanging) return;
    const fault = take(`${incoming.method} ${incoming.url}`, Buffer.concat(chunks).toString("utf8"));
    if (fault !== undefined) faults.push(fault);
    outgoing.writeHead(fault === undefined ? 200 : 400, { "content-type": "application/json" }).end("{}");
  });

  function take(where: string, body: string): string | undefined {
    if (where !== "POST /v1/traces") return where;
    const parsed = Request.safeParse(JSON.parse(body));
    if (!parsed.success) return z.prettifyError(parsed.error);
    for (const { resource, scopeSpans } of parsed.data.resourceSpans)
      for (const each of scopeSpans.flatMap((scope) => scope.spans))
        spans.push({ ...each, service: resource.attributes["service.name"] });
    return undefined;
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    faults,
    headers,
    hang() {
      isHanging = true;
    },
    dropConnections: () => server.closeAllConnections(),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The spans of one trace as a tree of names, by the span that it begins with: children in the order of their names. */
export function buildTree(spans: readonly Received[], root: Received): unknown {
  const children = spans.filter(
    ({ traceId, parentSpanId }) => traceId === root.traceId && parentSpanId === root.spanId,
  );
  const named = children.map((child) => buildTree(spans, child));
  return named.length === 0 ? root.name : { [root.name]: named.toSorted(byText) };
}

function byText(one: unknown, other: unknown): number {
  return JSON.stringify(one).localeCompare(JSON.stringify(other));
}
