import { Worker } from "node:worker_threads";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Cluster } from "#config/cluster.ts";
import { systemClock } from "#kube/follow/clock.ts";
import type { FollowedCluster } from "#relay/followed-cluster.ts";
import { MEMORY_MS } from "#relay/workers/assignment.ts";
import type { LogLine } from "#relay/workers/messages.ts";
import { createPool, type Pool } from "#relay/workers/pool.ts";
import { createFakeGate } from "#test/relay/workers/fake-gate.ts";
import { ORDERS, type Order } from "#test/relay/workers/orders.ts";
import { untilTrue } from "#test/until-true.ts";

const SCRIPT = new URL("worker-script.ts", import.meta.url);

/** Five of them without a word are a death, thirty a worker that cannot begin. */
const TURN_MS = 100;

let pool: Pool;
let lines: LogLine[];
let threads: number;
/** How far the clock is ahead of the system's. */
let aheadMs: number;
const orders = new Int32Array(new SharedArrayBuffer(4));
const give = (order: Order): void => void Atomics.store(orders, 0, ORDERS.indexOf(order));

beforeEach(() => {
  lines = [];
  threads = 0;
  aheadMs = 0;
  give("nothing");
});
afterEach(async () => {
  give("nothing");
  await pool.close();
  await untilTrue("all threads to end", () => threads === 0);
});

function start(workers: number, ...names: readonly string[]): Promise<unknown> {
  pool = createPool({
    spawn(start) {
      threads += 1;
      const resourceLimits = { maxOldGenerationSizeMb: 40, maxYoungGenerationSizeMb: 8 };
      const worker = new Worker(SCRIPT, { workerData: { start, orders }, resourceLimits });
      worker.once("exit", () => {
        threads -= 1;
      });
      return worker;
    },
    workersFor: () => workers,
    gate: createFakeGate(1),
    longestInvocationMs: 1,
    log: (line) => lines.push(line),
    clock: { ...systemClock, now: () => systemClock.now() + aheadMs },
    random: () => 0,
    turnMs: TURN_MS,
  });
  return Promise.all(names.map((name) => pool.want(name, cluster(name))));
}

const cluster = (name: string, invocations = 4): Cluster =>
  Cluster.parse({
    name,
    server: "https://example.com",
    cloud: { provider: "memory", instancesFile: "none.json" },
    controllers: ["cloud-node-controller"],
    limits: { invocations },
  });
const statusOf = (name: string): FollowedCluster | undefined =>
  pool.status().find((status) => status.name === name);
/** The id of the worker that says that it is ready. */
const workerOf = (name: string): number | undefined =>
  statusOf(name)?.ready ? statusOf(name)?.objects : undefined;
const said = (event: string): LogLine[] => lines.filter((line) => line["event"] === event);
const died = (times: number): Promise<void> =>
  untilTrue(`${times} deaths`, () => said("WorkerDied").length >= times);
const ready = (...names: readonly string[]): Promise<void> =>
  untilTrue(`${names} to be ready`, () => names.every((name) => pool.ready(name)));

/** Has the clusters named "bad" do it once, and all are ready again. */
async function misbehave(order: Order, ...names: readonly string[]): Promise<void> {
  const before = said("WorkerDied").length;
  give(order);
  await died(before + 1);
  give("nothing");
  await ready(...names);
}

describe("a worker that", () => {
  test.each<[string, Order, string]>([
    ["hangs", "spin", "unresponsive"],
    ["runs out of memory", "exhaust", "memory"],
    ["throws", "throw", "error"],
    ["ends", "exit", "exit"],
  ])("%s takes only its own clusters with it, and they go on in another one", async (_, order, reason) => {
    await start(2, "bad", "other", "mate", "another");
    await ready("bad", "other", "mate", "another");
    const [bad, other, mate, another] = ["bad", "other", "mate", "another"].map(workerOf);
    expect([bad === mate, other === another, bad === other]).toEqual([true, true, false]);
    await misbehave(order, "bad", "mate");
    expect(said("WorkerDied")).toMatchObject([{ reason, worker: bad, clusters: 2, cluster: "bad" }]);
    expect([workerOf("other"), workerOf("another")]).toEqual([other, another]);
    expect([workerOf("mate") === mate, workerOf("bad") === workerOf("mate")]).toEqual([false, true]);
  });

  test("cannot begin is tried again, and none of its clusters is blamed", async () => {
    give("fail");
    void start(1, "good", "mate");
    await died(2);
    expect(said("WorkerDied")[0]).toMatchObject({ reason: "start", cluster: undefined });
    expect(statusOf("good")).toMatchObject({ ready: false, failure: { code: "Starting" } });
    give("nothing");
    aheadMs += 60_000;
    await ready("good", "mate");
    expect(pool.isQuarantined("good")).toBe(false);
  });

  test("was stopped together with everything else is not dead", async () => {
    await start(1, "good");
    await ready("good");
    const before = workerOf("good");
    for (let stops = 0; stops < 3; stops += 1) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 8 * TURN_MS);
      await new Promise((resolve) => setTimeout(resolve, 2 * TURN_MS));
    }
    expect([said("WorkerDied"), workerOf("good")]).toEqual([[], before]);
  });
});

describe("a cluster that ends its worker twice", () => {
  test("is alone, tried again at intervals, and one of the others again when it has been well", async () => {
    await start(1, "bad", "good");
    await ready("bad", "good");
    await misbehave("throw", "bad", "good");
    give("throw");
    await died(2);
    await ready("good");
    const good = workerOf("good");
    await died(3);
    await untilTrue("the message", () => statusOf("bad")?.failure?.message.includes("tried again") === true);
    expect(statusOf("bad")).toMatchObject({
      ready: false,
      failure: { code: "Quarantined", message: expect.stringMatching(/tried again in [78] s$/) },
      configurationFault: undefined,
    });
    expect(said("Quarantined").map(({ cluster, deaths }) => [cluster, deaths])).toEqual([
      ["bad", 0],
      ["bad", 1],
    ]);
    give("nothing");
    aheadMs += 10_000;
    await ready("bad");
    expect([pool.isQuarantined("bad"), workerOf("bad") === good]).toEqual([true, false]);
    aheadMs += MEMORY_MS;
    await untilTrue("the end of the quarantine", () => workerOf("bad") === good);
    expect([pool.isQuarantined("bad"), workerOf("good"), said("QuarantineEnded").length]).toEqual([
      false,
      good,
      1,
    ]);
    await untilTrue("its own worker to end", () => pool.workers() === 1 && threads === 1);
  });

  test("is found out although nobody can tell who it was, and all others are well", async () => {
    const names = ["one", "two", "bad-unmarked", "three", "four"];
    await start(1, ...names);
    give("exit");
    await untilTrue("the quarantine", () => pool.isQuarantined("bad-unmarked"));
    const others = names.filter((name) => name !== "bad-unmarked");
    await ready(...others);
    expect(others.filter((name) => pool.isQuarantined(name))).toEqual([]);
    expect(new Set(said("WorkerDied").map(({ cluster }) => cluster))).toEqual(new Set([undefined]));
  });
});

describe("what is wanted of a cluster", () => {
  test("is told to the worker that it is in", async () => {
    await start(2, "one", "two");
    await ready("one", "two");
    const before = workerOf("one");
    await pool.want("one", cluster("one", 9));
    await untilTrue("the change", () => statusOf("one")?.invocations === 9);
    expect(workerOf("one")).toBe(before);
  });

  test("can be that it is no more; its worker goes with the last one", async () => {
    await start(2, "one", "two");
    await pool.want("one", undefined);
    expect(pool.status().map(({ name }) => name)).toEqual(["two"]);
    await untilTrue("the worker to end", () => threads === 1);
  });

  test("holds for the worker after the one that died", async () => {
    await start(1, "bad", "good");
    await pool.want("good", cluster("good", 9));
    await misbehave("exit", "good");
    expect(statusOf("good")?.invocations).toBe(9);
  });

  test("is not said by a faulty entry, which is shown", async () => {
    await start(1, "one");
    await ready("one");
    const fault = { code: "Invalid", message: "no URL" };
    pool.setEntryFault("one", fault);
    pool.setEntryFault("new", fault);
    expect(statusOf("one")).toMatchObject({ ready: true, configurationFault: fault });
    expect(statusOf("new")).toMatchObject({ ready: false, failure: fault });
    await pool.want("new", undefined);
    await pool.want("one", cluster("one"));
    expect(pool.status()).toMatchObject([{ name: "one", configurationFault: undefined }]);
  });
});

describe("the end", () => {
  test("comes when nothing is in flight any more", async () => {
    await start(2, "one", "two");
    expect(await pool.drain(new AbortController().signal)).toBe(true);
  });

  test("does not wait for ever", async () => {
    await start(1, "one");
    await ready("one");
    give("linger");
    expect(await pool.drain(AbortSignal.timeout(50))).toBe(false);
    await pool.close();
    await untilTrue("the thread to end", () => threads === 0);
  });

  test("is told to have lost something where a worker died, and starts no other one", async () => {
    await start(1, "bad");
    await ready("bad");
    give("linger");
    const drained = pool.drain(new AbortController().signal);
    await new Promise((resolve) => setTimeout(resolve, 50));
    give("exit");
    expect([await drained, pool.workers()]).toEqual([false, 0]);
  });

  test("comes for a worker that hangs, too", async () => {
    await start(1, "bad");
    await ready("bad");
    give("spin");
    await pool.close();
    await untilTrue("the thread to end", () => threads === 0);
  });
});
