import { readFile } from "node:fs/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type FunctionTracer, openFunctionTracer } from "#functions/parts/function-tracer.ts";
import { type FunctionUnderTest, startFunction } from "#test/functions/function-under-test.ts";
import { expectLogLines } from "#test/log-lines.ts";
import { buildTree, type OtlpReceiver, startOtlpReceiver } from "#test/tracing/otlp-receiver.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";

let given: FunctionUnderTest;
let receiver: OtlpReceiver;
let tracer: FunctionTracer | undefined;
let lines: Readonly<Record<string, unknown>>[];

beforeEach(async () => {
  [given, receiver] = await Promise.all([startFunction(), startOtlpReceiver()]);
  lines = [];
  const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url };
  tracer = await openFunctionTracer("node", environment, (line) => lines.push(line));
});
afterEach(() => Promise.all([given.close(), receiver.close()]));

const outcomes = (report: { readonly objects: readonly { readonly outcome: string }[] }): string[] =>
  report.objects.map(({ outcome }) => outcome);

test.each([
  ["the trace that it came with", { trace: `00-${TRACE}-${SPAN}-01` }, SPAN],
  ["a trace of its own where the sender has none", {}, undefined],
  ["a trace of its own where the sender's is garbage", { trace: "garbage" }, undefined],
  ["a trace of its own where the sender's is no text", { trace: { traceparent: 1 } }, undefined],
])("an event is carried out in %s", async (_, difference, parent) => {
  const nodes = await given.join("node-1");
  expect(outcomes(await given.invoke(given.event(nodes, difference), { tracer }))).toEqual(["changed"]);
  // By the time of the answer they are there.
  const [root] = receiver.spans.filter(({ name }) => name === "function");
  expect(root?.parentSpanId).toBe(parent);
  if (parent !== undefined) expect(root?.traceId).toBe(TRACE);
  expect(root && buildTree(receiver.spans, root)).toEqual({
    function: ["PATCH nodes", "PATCH nodes/status", "POST events"],
  });
  expect(root?.attributes).toMatchObject({
    "k8s.cluster.name": "tenant-a",
    "serverless_ccm.controller": "cloud-node-controller",
    "serverless_ccm.reason": "watch",
    "serverless_ccm.event_id": "event-1",
    "serverless_ccm.objects": 1,
    "serverless_ccm.changed": 1,
    "faas.invocation_id": "request-1",
  });
  expect(receiver.faults).toEqual([]);
});

test("what its sender does not have recorded is not recorded", async () => {
  const nodes = await given.join("node-1");
  const event = given.event(nodes, { trace: `00-${TRACE}-${SPAN}-00` });
  expect(outcomes(await given.invoke(event, { tracer }))).toEqual(["changed"]);
  expect(receiver.headers).toEqual([]);
});

test("a batch is a few spans whose names reveal nothing of the cluster, and no secret", async () => {
  const names = Array.from({ length: 60 }, (_, node) => `tenants-node-${node}`);
  await given.invoke(given.event(await given.join(...names)), { tracer });
  expect(receiver.spans.length).toBeLessThanOrEqual(1 + 3 + 3 * 10);
  expect(new Set(receiver.spans.map(({ name }) => name))).toEqual(
    new Set(["function", "PATCH nodes", "PATCH nodes/status", "POST events"]),
  );
  const token = (await readFile(given.plane.tokenFile("node"), "utf8")).trim();
  expect(JSON.stringify(receiver.spans)).not.toContain(token);
});

test("an event that is refused at the door is no trace", async () => {
  await expect(given.invoke({ version: 1 }, { tracer })).rejects.toThrow("the event is rejected");
  expect(receiver.spans).toEqual([]);
});

test("a function that fails says so in its trace", async () => {
  const failing = {
    now: () => {
      throw new RangeError("no time");
    },
  };
  await expect(
    given.invoke(given.event(await given.join("node-1")), { tracer, ...failing }),
  ).rejects.toThrow();
  expect(receiver.spans.map(({ name, status }) => [name, status?.message])).toEqual([
    ["function", "RangeError"],
  ]);
});

test("a collector that does not answer costs spans and no report, and is logged", async () => {
  receiver.hang();
  const nodes = await given.join("node-1");
  expect(outcomes(await given.invoke(given.event(nodes), { tracer }))).toEqual(["changed"]);
  expect(lines).toEqual([{ level: "warn", event: "TracesDropped", spans: 4, code: "TimedOut" }]);
  expectLogLines(lines);
});
