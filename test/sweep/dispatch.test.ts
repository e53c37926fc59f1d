import { describe, expect, test } from "vitest";
import type { Cluster } from "#config/cluster.ts";
import { type DispatchDependencies, sweep } from "#sweep/dispatch.ts";
import { parseSweepPayload, type Shard, type SweepLine } from "#sweep/payload.ts";
import { createSweepTurns } from "#sweep/sweep-cluster.ts";
import { createUnreachable } from "#test/kube/apply/fake-api.ts";
import { createManualClock, type ManualClock } from "#test/kube/follow/manual-clock.ts";
import { expectLogLines } from "#test/log-lines.ts";
import { INITIALIZED, TAINTED } from "#test/relay/fake-functions.ts";
import { buildReport } from "#test/relay/report-builders.ts";
import {
  buildCluster,
  createLeaseAnswer,
  createSweptWorld,
  type SweptWorld,
} from "#test/sweep/sweep-builders.ts";

interface Given {
  readonly world: DispatchDependencies;
  readonly handedOn: Shard[];
  readonly lines: SweepLine[];
  readonly sweep: (payload: unknown, signal?: AbortSignal) => ReturnType<typeof sweep>;
}

function given(clusters: readonly Cluster[], api: (cluster: Cluster) => SweptWorld["transport"]): Given {
  const clock = createManualClock();
  const handedOn: Shard[] = [];
  const lines: SweepLine[] = [];
  const world: DispatchDependencies = {
    clusters: async () => clusters,
    async handOn(shard) {
      handedOn.push(shard);
    },
    log: (line) => lines.push(line),
    api: async (cluster) => api(cluster),
    invoker: { invoke: async (event) => ({ kind: "report", report: buildReport(event) }) },
    random: () => 0.5,
    identity: "test",
    turns: createSweepTurns(clock),
    clock,
  };
  return {
    ...{ world, handedOn, lines },
    async sweep(payload, signal = new AbortController().signal) {
      const result = await sweep(parseSweepPayload(payload, clock.wallTime().getTime()), world, { signal });
      expectLogLines(lines);
      return result;
    },
  };
}

const many = (count: number): Cluster[] =>
  Array.from({ length: count }, (_, index) => buildCluster(`tenant-${index}`));

function freshWorld(): SweptWorld {
  const world = createSweptWorld();
  world.lease = createLeaseAnswer(0);
  world.nodes.put("there", INITIALIZED);
  return world;
}

const unreachable = (): never => {
  throw new Error("no request was expected");
};

describe("a sweep of all clusters", () => {
  test("of 1,000 hands 40 shards of 25 on, each cluster in one of them, and asks no API server", async () => {
    const clusters = many(1_000);
    const { handedOn, world, sweep: run } = given(clusters, unreachable);
    expect(await run({})).toEqual({ shards: 40, clusters: 0, overdue: 0, unfinished: 0 });
    expect(handedOn).toHaveLength(40);
    for (const shard of handedOn) {
      expect(shard).toMatchObject({ at: world.clock.wallTime().getTime() });
      expect(shard.clusters).toHaveLength(25);
      // What is handed on is what is taken.
      expect(parseSweepPayload({ shard }, world.clock.wallTime().getTime())).toEqual({
        kind: "shard",
        shard,
      });
    }
    expect(handedOn.flatMap((shard) => shard.clusters)).toEqual(clusters.map(({ name }) => name));
  });

  test.each([
    { clusters: 1_000, shards: 40, spreadMs: 39 * 200 },
    { clusters: 10_000, shards: 400, spreadMs: 20_000 - 20_000 / 400 },
  ])("of $clusters spreads the $shards shards over time if configured", async (row) => {
    const { world, handedOn, sweep: run } = given(many(row.clusters), unreachable);
    const clock = world.clock as ManualClock;
    const startedMs = clock.now();
    const atMs: number[] = [];
    Object.assign(world, {
      handOnEveryMs: 200,
      async handOn(shard: Shard) {
        atMs.push(clock.now() - startedMs);
        handedOn.push(shard);
      },
    });
    const swept = run({});
    await clock.advance(60_000);
    expect(await swept).toMatchObject({ shards: row.shards, unfinished: 0 });
    expect([handedOn.length, atMs[0]]).toEqual([row.shards, 0]);
    expect(atMs.at(-1)).toBeCloseTo(row.spreadMs, 3);
  });

  test.each([
    [25, 0],
    [26, 2],
  ])("of %i hands %i shards on", async (count, shards) => {
    const { handedOn, sweep: run } = given(many(count), () => freshWorld().transport);
    expect(await run({})).toMatchObject({ shards, clusters: shards === 0 ? count : 0 });
    expect(handedOn).toHaveLength(shards);
  });

  test("says which clusters could not be handed on, and hands the others on", async () => {
    const { world, handedOn, lines } = given(many(60), unreachable);
    const failing: DispatchDependencies = {
      ...world,
      async handOn(shard) {
        if (shard.clusters.includes("tenant-30")) throw new Error("Rate Exceeded.");
        handedOn.push(shard);
      },
    };
    const result = await sweep({ kind: "all", atMs: 0 }, failing, { signal: new AbortController().signal });
    expect(result).toEqual({ shards: 3, clusters: 0, overdue: 0, unfinished: 25 });
    expect(handedOn).toHaveLength(2);
    expect(lines).toMatchObject([
      { level: "error", event: "SweepNotDone", code: "NotHandedOn", message: "Rate Exceeded.", clusters: 25 },
    ]);
  });

  test("hands nothing on any more when its time is up", async () => {
    const { handedOn, sweep: run } = given(many(60), unreachable);
    expect(await run({}, AbortSignal.abort())).toMatchObject({ unfinished: 60 });
    expect(handedOn).toEqual([]);
  });

  test("rejects if the clusters are unknown", async () => {
    const { world } = given([], unreachable);
    const blind = { ...world, clusters: () => Promise.reject(new Error("clusters.yaml: empty")) };
    const time = { signal: new AbortController().signal };
    await expect(sweep({ kind: "all", atMs: 0 }, blind, time)).rejects.toThrow("clusters.yaml: empty");
  });
});

describe("a shard", () => {
  test("says of clusters that it does not know that it does not, and sweeps the others", async () => {
    const { world, lines, sweep: run } = given(many(2), () => freshWorld().transport);
    const shard = { clusters: ["tenant-0", "gone"], at: world.clock.wallTime().getTime() };
    expect(await run({ shard })).toMatchObject({ clusters: 1, unfinished: 1 });
    expect(lines[0]).toMatchObject({ event: "SweepNotDone", code: "UnknownCluster", names: ["gone"] });
  });

  test("of ten minutes ago is left to those that came since", async () => {
    const { world, lines, sweep: run } = given(many(2), unreachable);
    const shard = { clusters: ["tenant-0"], at: world.clock.wallTime().getTime() - 600_000 };
    expect(await run({ shard })).toEqual({ shards: 0, clusters: 0, overdue: 0, unfinished: 0 });
    expect(lines).toMatchObject([{ event: "SweepNotDone", code: "Late" }]);
  });

  test("has one line for all that is well, and one for each that is not", async () => {
    const worlds = new Map(many(25).map(({ name }) => [name, freshWorld()]));
    const stale = worlds.get("tenant-3") as SweptWorld;
    stale.lease = createLeaseAnswer(300_000);
    stale.nodes.put("late", { ...TAINTED, metadata: { creationTimestamp: "2025-12-31T00:00:00Z" } });
    const { lines, sweep: run } = given(many(25), ({ name }) => (worlds.get(name) as SweptWorld).transport);
    expect(await run({})).toMatchObject({ clusters: 25, overdue: 1, unfinished: 0 });
    const full = lines.filter(({ cluster }) => cluster === "tenant-3");
    expect(full).toMatchObject([
      { level: "warn", event: "SweepFinished", mode: "full", lease: "stale", listed: 2, overdue: 1 },
    ]);
    const quiet = lines.filter(({ mode }) => mode === "lease");
    const audits = lines.filter(({ mode }) => mode === "audit");
    expect(quiet).toHaveLength(1);
    expect(quiet[0]).toMatchObject({ level: "info", event: "SweepFinished", overdue: 0 });
    expect(Number(quiet[0]?.["clusters"]) + audits.length + full.length).toBe(25);
  });

  test("of clusters with all kinds of failures still does the work of the others", async () => {
    const worlds = new Map(many(20).map(({ name }) => [name, createSweptWorld()]));
    for (const [index, { nodes }] of [...worlds.values()].entries())
      nodes.put(`n${index}`, { ...TAINTED, metadata: { creationTimestamp: "2025-12-31T00:00:00Z" } });
    const breakIt = (name: string, send: SweptWorld["transport"]["send"]): void =>
      void Object.assign((worlds.get(name) as SweptWorld).transport, { send });
    // Hangs for good, is a black hole from the list on, refuses, answers rubbish, and breaks us.
    breakIt("tenant-1", () => new Promise(() => {}));
    for (const name of ["tenant-2", "tenant-6", "tenant-7"]) {
      const { transport } = worlds.get(name) as SweptWorld;
      const send = transport.send.bind(transport);
      breakIt(name, (request) => (request.path.includes("nodes") ? new Promise(() => {}) : send(request)));
    }
    breakIt("tenant-3", () => Promise.reject(createUnreachable("ConnectionRefused")));
    breakIt("tenant-4", async () => ({ status: 200, headers: {}, body: "[".repeat(100_000) }));
    breakIt("tenant-5", () => Promise.reject(new TypeError("a fault")));
    const bad = ["tenant-1", "tenant-2", "tenant-3", "tenant-4", "tenant-5", "tenant-6", "tenant-7"];
    const done = new Set<string>();
    const { world } = given(many(20), ({ name }) => (worlds.get(name) as SweptWorld).transport);
    const watching: DispatchDependencies = {
      ...world,
      invoker: {
        async invoke(event) {
          done.add(event.cluster);
          return { kind: "report", report: buildReport(event) };
        },
      },
    };
    void sweep({ kind: "all", atMs: 0 }, watching, { signal: new AbortController().signal });
    // A read permit for lists ends after half a second.
    await (world.clock as ReturnType<typeof createManualClock>).advance(2_000);
    expect(
      many(20)
        .map(({ name }) => name)
        .filter((name) => !done.has(name)),
    ).toEqual(bad);
  });
});
