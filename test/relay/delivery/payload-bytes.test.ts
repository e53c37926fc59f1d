import { readFile } from "node:fs/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Cluster } from "#config/cluster.ts";
import { MAX_BATCH_BYTES } from "#core/event.ts";
import { type CountingProxy, startCountingProxy } from "#emulators/harness/counting-proxy.ts";
import { type LambdaServer, startLambda } from "#emulators/lambda/server.ts";
import type { Invoker } from "#platforms/invoker.ts";
import { createLambdaInvoker } from "#platforms/lambda/invoker.ts";
import { type Relay, startRelay } from "#relay/relay.ts";
import type { OutcomeLine } from "#relay/report/outcome-line.ts";
import { type FunctionUnderTest, startFunction } from "#test/functions/function-under-test.ts";

/** Enough nodes that connections must be reused. */
const NODES = 550;
const MAX_IN_FLIGHT = 4;
const TIMEOUT_MS = 120_000;
/** On a busy machine, too, no answer may be lost: the nodes of a lost one are never reported as changed. */
const FUNCTION_TIMEOUT_MS = 60_000;

/**
 * Bytes for each node of a sent event and of a report; the documentation states them, and a quarter more is
 * allowed.
 */
const USUAL = { event: 562, report: 495 };

let world: FunctionUnderTest;
let lambda: LambdaServer;
let proxy: CountingProxy;
let invoker: Invoker;
let relay: Relay | undefined;
let lines: OutcomeLine[];

beforeEach(async () => {
  lines = [];
  world = await startFunction();
  const node = (event: unknown, context: object): Promise<unknown> => world.invoke(event, {}, context);
  lambda = await startLambda({ functions: { node }, timeoutMs: FUNCTION_TIMEOUT_MS, concurrency: 10 });
  proxy = await startCountingProxy(lambda.url);
  invoker = createLambdaInvoker({
    functionName: () => "node",
    functionTimeoutMs: FUNCTION_TIMEOUT_MS,
    maxInFlight: MAX_IN_FLIGHT,
    client: {
      endpoint: proxy.url,
      region: "eu-central-1",
      credentials: { accessKeyId: "test", secretAccessKey: "test" },
    },
  });
});
afterEach(async () => {
  await relay?.close();
  await invoker.close();
  await proxy.close();
  await lambda.close();
  await world.close();
});

test("existing nodes go to Lambda in batches of 100, and cost no more bytes each than documented", async () => {
  await bringUp();
  const { connections, downBytes } = proxy.traffic();
  const events = lambda.record().map(({ requestBytes }) => requestBytes);
  // A slow machine may close a batch before the rest of the list is parsed.
  expect(events.length).toBeGreaterThanOrEqual(Math.ceil(NODES / 100));
  expect(events.length).toBeLessThan(2 * Math.ceil(NODES / 100));
  expect(Math.max(...events)).toBeLessThanOrEqual(MAX_BATCH_BYTES);
  expect(connections).toBeLessThanOrEqual(MAX_IN_FLIGHT);
  expectAbout(events.reduce((sum, bytes) => sum + bytes) / NODES, USUAL.event);
  expectAbout(downBytes / NODES, USUAL.report);
  const page = await readFile(
    new URL("../../../docs/explanation/what-a-node-costs.md", import.meta.url),
    "utf8",
  );
  expect(page).toContain(`${USUAL.event} bytes of an event and ${USUAL.report} of a report`);
});

function expectAbout(bytes: number, usual: number): void {
  expect(bytes).toBeLessThanOrEqual(usual * 1.25);
  // Less than half would mean a wrong measurement.
  expect(bytes).toBeGreaterThanOrEqual(usual / 2);
}

/** Creates all nodes, then starts a relay, and waits until all are reported as changed. */
async function bringUp(): Promise<void> {
  await world.join(
    ...Array.from({ length: NODES }, (_, index) => `ip-10-0-0-${index}.eu-central-1.compute.internal`),
  );
  // The memory cloud may set any label, so that all labels of a node would be sent.
  const { cloud } = Cluster.parse({
    ...world.entry,
    cloud: { provider: "aws", region: "eu-central-1", vpc: "vpc-0123456789abcdef0" },
  });
  const onAws = { ...world.cluster, cloud };
  relay = startRelay({
    clusters: [{ cluster: onAws, transport: await world.api.transport("relay") }],
    invoker,
    identity: "counted",
    nodeStatusUpdateFrequencySeconds: 100_000,
    onOutcome: (line) => lines.push(line),
  });
  const deadline = performance.now() + TIMEOUT_MS;
  while (changed() < NODES) {
    if (performance.now() > deadline)
      throw new Error(`waited ${TIMEOUT_MS} ms: ${JSON.stringify(lines.slice(-3))}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function changed(): number {
  const reports = lines.filter(({ event }) => event === "Report");
  return reports.reduce((sum, line) => sum + (line["outcomes"] as { changed: number }).changed, 0);
}
