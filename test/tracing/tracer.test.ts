import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { buildTree, type OtlpReceiver, startOtlpReceiver } from "#test/tracing/otlp-receiver.ts";
import { createDroppedLine, openTracer } from "#tracing/open-tracer.ts";
import { createRequestSpans } from "#tracing/request-spans.ts";
import type { Tracer } from "#tracing/tracer.ts";

const LONG_MS = 10_000;
const SHORT_MS = 100;

let receiver: OtlpReceiver;
let lines: Readonly<Record<string, unknown>>[] = [];
let opened: Tracer[] = [];

beforeEach(async () => {
  receiver = await startOtlpReceiver();
  lines = [];
  opened = [];
});
afterEach(async () => {
  await Promise.all([receiver.close(), ...opened.map((tracer) => tracer.close())]);
});

async function open(environment: Readonly<Record<string, string>> = {}): Promise<Tracer> {
  const all = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, ...environment };
  const tracer = await openTracer(all, "test", (line) => lines.push(line));
  if (tracer === undefined) throw new Error("there is no tracer");
  opened.push(tracer);
  return tracer;
}

/** Records a span and sends it. */
async function one(tracer: Tracer, limitMs = LONG_MS): Promise<void> {
  tracer.start({ name: "one", kind: "internal" }).end();
  await tracer.flush(limitMs);
}

describe("a tracer", () => {
  test.each([
    ["nothing", {}],
    ["an empty endpoint", { OTEL_EXPORTER_OTLP_ENDPOINT: "" }],
    ["that it is disabled", { OTEL_EXPORTER_OTLP_ENDPOINT: "http://c", OTEL_SDK_DISABLED: "true" }],
    ["another exporter", { OTEL_EXPORTER_OTLP_ENDPOINT: "http://c", OTEL_TRACES_EXPORTER: "none" }],
  ])("is undefined if the environment says %s", async (_, environment) => {
    expect(await openTracer(environment, "test", (line) => lines.push(line))).toBeUndefined();
    expect(lines).toEqual([]);
  });

  test("is undefined if the environment is invalid, which is logged", async () => {
    const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: "nowhere" };
    expect(await openTracer(environment, "test", (line) => lines.push(line))).toBeUndefined();
    expect(lines).toMatchObject([{ level: "warn", event: "TracingOff", code: "TracingMisconfigured" }]);
  });

  test("sends spans with their parents, attributes and errors, and the configured headers", async () => {
    const tracer = await open({ OTEL_EXPORTER_OTLP_HEADERS: "x-key=secret" });
    const parent = { traceId: "a".repeat(32), spanId: "b".repeat(16), sampled: true };
    const span = tracer.start({
      name: "outer",
      kind: "server",
      parent,
      attributes: { text: "x", none: undefined },
    });
    span.child({ name: "inner", kind: "client", startMs: Date.now(), durationMs: 1.5, error: "Throttled" });
    span.end({ count: 2, part: 0.5, flag: true });
    span.end({}, "Late");
    await tracer.flush(LONG_MS);
    expect(receiver.faults).toEqual([]);
    const [outer] = receiver.spans.filter(({ name }) => name === "outer");
    expect(receiver.spans).toHaveLength(2);
    expect(outer).toMatchObject({
      traceId: parent.traceId,
      parentSpanId: parent.spanId,
      service: "test",
      kind: 2,
      attributes: { text: "x", count: 2, part: 0.5, flag: true },
    });
    expect(outer?.status).toBeUndefined();
    expect(outer && buildTree(receiver.spans, outer)).toEqual({ outer: ["inner"] });
    expect(receiver.spans.find(({ name }) => name === "inner")?.status?.message).toBe("Throttled");
    expect(receiver.headers[0]?.["x-key"]).toBe("secret");
    expect(tracer.counts()).toEqual({ exported: 2, dropped: 0, code: undefined });
  });

  test("records nothing of what is not sampled, and its children neither", async () => {
    const tracer = await open({ OTEL_TRACES_SAMPLER: "always_off" });
    const span = tracer.start({ name: "outer", kind: "server" });
    span.child({ name: "inner", kind: "client", startMs: 0, durationMs: 1 });
    span.end();
    await tracer.flush(LONG_MS);
    expect(span.context.sampled).toBe(false);
    expect(receiver.headers).toEqual([]);
  });

  test("gives up what a collector does not take in time, and leaves it alone for a while", async () => {
    const tracer = await open();
    receiver.hang();
    await one(tracer, SHORT_MS);
    expect(tracer.counts()).toEqual({ exported: 0, dropped: 1, code: "TimedOut" });
    await one(tracer, LONG_MS);
    expect(tracer.counts()).toEqual({ exported: 0, dropped: 2, code: "Paused" });
    expect(receiver.headers).toHaveLength(1);
  });

  test.each([
    ["that is not there", "http://127.0.0.1:1", "ECONNREFUSED"],
    ["that knows no traces", "/elsewhere", "Status400"],
  ])("counts what a collector %s cost", async (_, at, code) => {
    const url = at.startsWith("/") ? `${receiver.url}${at}` : at;
    const tracer = await open({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url });
    await one(tracer);
    expect(tracer.counts()).toEqual({ exported: 0, dropped: 1, code });
  });

  test("keeps so many spans and no more", async () => {
    const tracer = await open();
    for (let span = 0; span < 3_000; span += 1) tracer.start({ name: "one", kind: "internal" }).end();
    await tracer.flush(LONG_MS);
    expect(tracer.counts()).toEqual({ exported: 2_048, dropped: 952, code: "QueueFull" });
    expect(receiver.headers).toHaveLength(4);
  });

  test("sends on a new connection what the collector's end of an idle one lost", async () => {
    const tracer = await open();
    await one(tracer);
    receiver.dropConnections();
    await one(tracer);
    expect(tracer.counts()).toMatchObject({ exported: 2, dropped: 0 });
  });
});

describe("the requests of an invocation", () => {
  const ended = (name: string, durationMs: number, error?: string) => ({
    ...{ name, kind: "client" as const, startMs: 1_000, durationMs, attributes: {}, error },
  });

  test("a hundred alike are one span, with those that failed and the slowest within it", async () => {
    const tracer = await open();
    const span = tracer.start({ name: "function", kind: "server" });
    const requests = createRequestSpans(span);
    for (let node = 0; node < 100; node += 1) {
      requests.alike(ended("PATCH nodes/status", node, node === 3 ? "Status409" : undefined));
      requests.alike(ended("PATCH nodes", node));
    }
    requests.alike(ended("POST events", 1));
    requests.end();
    span.end();
    await tracer.flush(LONG_MS);
    expect(receiver.spans).toHaveLength(24);
    const [phase] = receiver.spans.filter(({ name, kind }) => name === "PATCH nodes/status" && kind === 1);
    expect(phase?.attributes).toEqual({
      "serverless_ccm.requests": 100,
      "serverless_ccm.failed": 1,
      "serverless_ccm.left_out": 90,
    });
    const within = receiver.spans.filter(({ parentSpanId }) => parentSpanId === phase?.spanId);
    expect(within.map(durationOf)).toEqual([3, 91, 92, 93, 94, 95, 96, 97, 98, 99]);
    expect(within[0]?.status?.message).toBe("Status409");
    expect(receiver.spans.filter(({ name }) => name === "POST events")).toHaveLength(1);
  });

  test("of calls to the cloud each has its own, up to a limit, and so have names", async () => {
    const tracer = await open();
    const span = tracer.start({ name: "function", kind: "server" });
    const requests = createRequestSpans(span);
    for (let call = 0; call < 200; call += 1) requests.single(ended("DescribeInstances", call));
    for (let name = 0; name < 20; name += 1) requests.alike(ended(`GET resource-${name}`, 1));
    requests.end();
    await tracer.flush(LONG_MS);
    expect(receiver.spans.filter(({ name }) => name === "DescribeInstances")).toHaveLength(50);
    const within = receiver.spans.filter(({ parentSpanId }) => parentSpanId === span.context.spanId);
    expect(new Set(within.map(({ name }) => name)).size).toBe(1 + 8 + 1);
    expect(receiver.spans.length).toBeLessThanOrEqual(50 + 8 + 1 + 10);
  });
});

describe("that spans are dropped", () => {
  test("is logged at once, and then once a minute at most", () => {
    let nowMs = 0;
    let dropped = 0;
    const say = createDroppedLine(
      () => ({ exported: 0, dropped, code: "TimedOut" }),
      (line) => lines.push(line),
      () => nowMs,
    );
    for (const [atMs, count] of [
      [0, 0],
      [1_000, 3],
      [2_000, 5],
      [61_000, 9],
      [200_000, 9],
    ] as const) {
      nowMs = atMs;
      dropped = count;
      say();
    }
    expect(lines).toEqual([
      { level: "warn", event: "TracesDropped", spans: 3, code: "TimedOut" },
      { level: "warn", event: "TracesDropped", spans: 6, code: "TimedOut" },
    ]);
  });
});

function durationOf({
  startTimeUnixNano,
  endTimeUnixNano,
}: {
  startTimeUnixNano: string;
  endTimeUnixNano: string;
}) {
  return Number(BigInt(endTimeUnixNano) - BigInt(startTimeUnixNano)) / 1e6;
}
