import { Worker } from "node:worker_threads";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Cluster } from "#config/cluster.ts";
import { systemClock } from "#kube/follow/clock.ts";
import type { ClusterState } from "#relay/cluster-state.ts";
import { MEMORY_MS } from "#relay/workers/assignment.ts";
import type { FromWorker, LogLine, ToWorker } from "#relay/workers/messages.ts";
import { createPool, type Pool } from "#relay/workers/pool.ts";
import { createFakeLimiter } from "#test/relay/workers/fake-limiter.ts";
import { ORDERS, type Order } from "#test/relay/workers/orders.ts";
import { createSteppedPool, MAX_WORKERS } from "#test/relay/workers/stepped-pool.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

const SCRIPT = new URL("worker-script.ts", import.meta.url);

let pool: Pool;
let lines: LogLine[];
let threads: number;
let stopTurns: () => void;
/** Workers that spin for ever, by id. */
let spinning: Int32Array;
/** How far the clock is ahead of the system's. */
let aheadMs: number;
const orders = new Int32Array(new SharedArrayBuffer(4));
const give = (order: Order): void => void Atomics.store(orders, 0, ORDERS.indexOf(order));

beforeEach(() => {
  lines = [];
  threads = 0;
  aheadMs = 0;
  spinning = new Int32Array(new SharedArrayBuffer(4 * MAX_WORKERS));
  stopTurns = () => {};
  give("nothing");
});
afterEach(async () => {
  give("nothing");
  stopTurns();
  await pool.close();
  await waitUntilTrue("all threads to end", () => threads === 0);
});

function start(workers: number, ...names: readonly string[]): Promise<unknown> {
  ({ pool, stop: stopTurns } = createSteppedPool({
    spinning,
    spawn(start) {
      threads += 1;
      const resourceLimits = { maxOldGenerationSizeMb: 40, maxYoungGenerationSizeMb: 8 };
      const worker = new Worker(SCRIPT, { workerData: { start, orders, spinning }, resourceLimits });
      worker.once("exit", () => {
        threads -= 1;
      });
      return worker;
    },
    workersFor: () => workers,
    limiter: createFakeLimiter(1),
    longestInvocationMs: 1,
    log: (line) => lines.push(line),
    clock: { ...systemClock, now: () => systemClock.now() + aheadMs },
    random: () => 0,
  }));
  return Promise.all(names.map((name) => pool.setDesiredState(name, cluster(name))));
}

const cluster = (name: string, invocations = 4): Cluster =>
  Cluster.parse({
    name,
    server: "https://example.com",
    cloud: { provider: "memory", instancesFile: "none.json" },
    controllers: ["cloud-node-controller"],
    limits: { invocations },
  });
const statusOf = (name: string): ClusterState | undefined =>
  pool.status().find((status) => status.name === name);
/** Returns the id of the worker that reports the cluster as ready. */
const workerOf = (name: string): number | undefined =>
  statusOf(name)?.ready ? statusOf(name)?.objects : undefined;
const said = (event: string): LogLine[] => lines.filter((line) => line["event"] === event);
const died = (times: number): Promise<void> =>
  waitUntilTrue(`${times} deaths`, () => said("WorkerDied").length >= times);
const ready = (...names: readonly string[]): Promise<void> =>
  waitUntilTrue(`${names} to be ready`, () => names.every((name) => pool.ready(name)));

/** Makes the clusters named "bad" execute the order once, and waits until all are ready again. */
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
  ])("%s takes only its own clusters with it, and they continue in another one", async (_, order, reason) => {
    await start(2, "bad", "other", "mate", "another");
    await ready("bad", "other", "mate", "another");
    const [bad, other, mate, another] = ["bad", "other", "mate", "another"].map(workerOf);
    expect([bad === mate, other === another, bad === other]).toEqual([true, true, false]);
    await misbehave(order, "bad", "mate");
    expect(said("WorkerDied")).toMatchObject([{ reason, worker: bad, clusters: 2, cluster: "bad" }]);
    expect([workerOf("other"), workerOf("another")]).toEqual([other, another]);
    expect([workerOf("mate") === mate, workerOf("bad") === workerOf("mate")]).toEqual([false, true]);
  });

  test("cannot start is tried again, without blame for its clusters", async () => {
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
    const pingIntervalMs = 20;
    let answers = 0;
    pool = createPool({
      // A thread that this process runs is stopped together with it.
      spawn() {
        let receive: (message: FromWorker) => void = () => {};
        const answer = (message: FromWorker): void => void setImmediate(() => receive(message));
        return {
          on(event: string, listener: (value: never) => void) {
            if (event !== "message") return;
            receive = listener as typeof receive;
            answer({ kind: "ready" });
          },
          postMessage({ kind }: ToWorker) {
            if (kind !== "ping") return;
            answers += 1;
            answer({ kind: "pong" });
          },
          terminate: async () => {},
        };
      },
      workersFor: () => 1,
      limiter: createFakeLimiter(1),
      longestInvocationMs: 1,
      log: (line) => lines.push(line),
      pingIntervalMs,
    });
    void pool.setDesiredState("good", cluster("good"));
    for (let stops = 0; stops < 3; stops += 1) {
      const before = answers;
      await waitUntilTrue("an answer", () => answers > before);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 8 * pingIntervalMs);
    }
    expect([said("WorkerDied"), pool.workers()]).toEqual([[], 1]);
  });
});

describe("a cluster that ends its worker twice", () => {
  test("is isolated, tried again at intervals, and trusted again after a time without trouble", async () => {
    await start(1, "bad", "good");
    await ready("bad", "good");
    await misbehave("throw", "bad", "good");
    give("throw");
    await died(2);
    await ready("good");
    const good = workerOf("good");
    await died(3);
    await waitUntilTrue(
      "the message",
      () => statusOf("bad")?.failure?.message.includes("retries in") === true,
    );
    expect(statusOf("bad")).toMatchObject({
      ready: false,
      failure: { code: "Quarantined", message: expect.stringMatching(/retries in \d s$/) },
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
    await waitUntilTrue("the end of the quarantine", () => workerOf("bad") === good);
    expect([pool.isQuarantined("bad"), workerOf("good"), said("QuarantineEnded").length]).toEqual([
      false,
      good,
      1,
    ]);
    await waitUntilTrue("its own worker to end", () => pool.workers() === 1 && threads === 1);
  });

  test("is found even if no death names its culprit, and all others continue", async () => {
    const names = ["one", "two", "bad-unmarked", "three", "four"];
    await start(1, ...names);
    give("exit");
    await waitUntilTrue("the quarantine", () => pool.isQuarantined("bad-unmarked"));
    const others = names.filter((name) => name !== "bad-unmarked");
    await ready(...others);
    expect(others.filter((name) => pool.isQuarantined(name))).toEqual([]);
    expect(new Set(said("WorkerDied").map(({ cluster }) => cluster))).toEqual(new Set([undefined]));
  });
});

describe("the desired state of a cluster", () => {
  test("is sent to its worker", async () => {
    await start(2, "one", "two");
    await ready("one", "two");
    const before = workerOf("one");
    await pool.setDesiredState("one", cluster("one", 9));
    await waitUntilTrue("the change", () => statusOf("one")?.invocations === 9);
    expect(workerOf("one")).toBe(before);
  });

  test("may be its removal; its worker ends with the last one", async () => {
    await start(2, "one", "two");
    await pool.setDesiredState("one", undefined);
    expect(pool.status().map(({ name }) => name)).toEqual(["two"]);
    await waitUntilTrue("the worker to end", () => threads === 1);
  });

  test("also holds for the worker after a death", async () => {
    await start(1, "bad", "good");
    await pool.setDesiredState("good", cluster("good", 9));
    await misbehave("exit", "good");
    expect(statusOf("good")?.invocations).toBe(9);
  });

  test("is not changed by a faulty entry, which is shown", async () => {
    await start(1, "one");
    await ready("one");
    const fault = { code: "Invalid", message: "no URL" };
    pool.setEntryFault("one", fault);
    pool.setEntryFault("new", fault);
    expect(statusOf("one")).toMatchObject({ ready: true, configurationFault: fault });
    expect(statusOf("new")).toMatchObject({ ready: false, failure: fault });
    await pool.setDesiredState("new", undefined);
    await pool.setDesiredState("one", cluster("one"));
    expect(pool.status()).toMatchObject([{ name: "one", configurationFault: undefined }]);
  });
});

describe("the end of a pool", () => {
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
    await waitUntilTrue("the thread to end", () => threads === 0);
  });

  test("reports a loss if a worker died, and starts no other worker", async () => {
    await start(1, "bad");
    await ready("bad");
    give("linger");
    const drained = pool.drain(new AbortController().signal);
    await new Promise((resolve) => setTimeout(resolve, 50));
    give("exit");
    expect([await drained, pool.workers()]).toEqual([false, 0]);
  });

  test("comes even if a worker hangs", async () => {
    await start(1, "bad");
    await ready("bad");
    give("spin");
    await pool.close();
    await waitUntilTrue("the thread to end", () => threads === 0);
  });
});
