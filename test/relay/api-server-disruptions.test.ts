import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { createInProcessInvoker } from "#cli/run/in-process-functions.ts";
import { createMemoryCloud } from "#clouds/memory/cloud.ts";
import { nodeController } from "#core/node/controller.ts";
import type { Node } from "#core/node/node.ts";
import { isUninitialized } from "#core/node/taints.ts";
import { createControllerFunction } from "#functions/parts/controller-function.ts";
import type { Clock } from "#kube/follow/clock.ts";
import { type Relay, startRelay } from "#relay/relay.ts";
import type { OutcomeLine } from "#relay/report/outcome-line.ts";
import { type FunctionUnderTest, startFunction } from "#test/functions/function-under-test.ts";

let world: FunctionUnderTest;
let relay: Relay;
let lines: OutcomeLine[];

beforeAll(async () => {
  world = await startFunction();
  lines = [];
  relay = await startRelayOn(world);
});
afterEach(() => world.plane.control.resetConnections(false));
afterAll(async () => {
  await relay.close();
  await world.close();
});

/** Returns a clock that makes a silence of 90 s take less than two seconds. */
function hastened(factor: number): Clock {
  return {
    now: () => performance.now() * factor,
    wallTime: () => new Date(performance.timeOrigin + performance.now() * factor),
    after(delayMs, callback) {
      const timer = setTimeout(callback, delayMs / factor);
      return () => clearTimeout(timer);
    },
  };
}

async function startRelayOn({ api, cluster, cloud }: FunctionUnderTest): Promise<Relay> {
  const node = createControllerFunction(nodeController, {
    clusters: async () => cluster,
    cloud: async () => createMemoryCloud(cloud),
    api: async () => api.functions,
    now: () => new Date(),
  });
  const started = startRelay({
    clusters: [{ cluster, transport: await api.transport("relay") }],
    invoker: createInProcessInvoker(new Map([["cloud-node-controller", node]]), 10_000),
    identity: "door",
    nodeStatusUpdateFrequencySeconds: 100_000,
    clock: hastened(50),
    onOutcome: (line) => lines.push(line),
  });
  return started;
}

async function until(what: string, done: () => Promise<boolean> | boolean): Promise<void> {
  const deadline = performance.now() + 120_000;
  while (!(await done())) {
    if (performance.now() > deadline)
      throw new Error(`waited 2 min for ${what}: ${JSON.stringify(lines.slice(-5))}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function join(...names: string[]): Promise<void> {
  await world.join(...names);
}

const initialized = (names: readonly string[]): Promise<void> =>
  until(`${names.length} initialized nodes`, async () => {
    const nodes = await Promise.all(names.map((name) => world.api.read(name)));
    return nodes.every(isDone);
  });

const isDone = (node: Node): boolean =>
  !isUninitialized(node) && (node.status.addresses ?? []).some(({ type }) => type === "InternalIP");

const named = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index}`);

test("nodes that join are initialized, and the relay only lists and watches", async () => {
  const names = named("burst", 150);
  await Promise.all(names.map((name) => join(name)));
  await initialized(names);
  // The audit log contains a watch when it has ended.
  world.plane.control.endWatches();
  const verbs = async () => {
    const record = await world.plane.record();
    return [...new Set(record.filter(({ user }) => user === "serverless-ccm-relay").map(({ verb }) => verb))];
  };
  await until("a watch in the record", async () => (await verbs()).includes("watch"));
  expect((await verbs()).sort()).toEqual(["list", "watch"]);
  expect(relay.ready()).toBe(true);
});

test("nodes that join are initialized although watches end, history is lost and connections close", async () => {
  const { control } = world.plane;
  const names: string[] = [];
  for (const [round, disturb] of [
    () => control.endWatches(),
    () => control.goAway(),
    () => {
      control.endWatches();
      control.compact();
    },
    () => control.resetConnections(true),
  ].entries()) {
    const joining = named(`disturbed-${round}`, 20);
    await Promise.all(joining.slice(0, 10).map((name) => join(name)));
    disturb();
    control.resetConnections(false);
    await Promise.all(joining.slice(10).map((name) => join(name)));
    names.push(...joining);
  }
  await initialized(names);
});

test("the relay follows a server again after an outage", async () => {
  await world.plane.stopServer();
  await until("an unready relay", () => !relay.ready());
  expect(relay.status()[0]?.failure?.code).toMatch(/ConnectionRefused|ConnectionLost|ConnectFailed/);
  await world.plane.startServer();
  await until("a ready relay", () => relay.ready());
  await join("afterwards");
  await initialized(["afterwards"]);
});

test("the relay detects a store reset to a backup and adopts its content", async () => {
  const backup = await world.plane.backup();
  await Promise.all(named("lost", 30).map((name) => join(name)));
  await initialized(named("lost", 30));
  await until("the relay has seen them", () => (relay.status()[0]?.objects ?? 0) > 250);
  await world.plane.restore(backup);
  await join("found");
  await initialized(["found"]);
  await until("the lost ones are forgotten", () => (relay.status()[0]?.objects ?? 0) < 240);
});
