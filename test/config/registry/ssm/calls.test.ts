import { expect, test } from "vitest";
import { createSsmRegistry } from "#config/registry/ssm/ssm-registry.ts";
import { followStops, type StopsFollower } from "#config/switch/follow-stops.ts";
import { createSsmSwitch } from "#config/switch/ssm.ts";
import { createStopReader } from "#config/switch/stop-reader.ts";
import type { Stop } from "#core/stop.ts";
import { type DispatchDependencies, type SweepResult, sweep } from "#sweep/dispatch.ts";
import { createSweepTurns } from "#sweep/sweep-cluster.ts";
import { buildEntry } from "#test/config/registry/contract.ts";
import {
  createThrottledParameters,
  type ThrottledParameters,
} from "#test/config/registry/ssm/throttled-parameters.ts";
import { createRandom } from "#test/faults/random.ts";
import { createManualClock, type ManualClock } from "#test/kube/follow/manual-clock.ts";
import { SEED } from "#test/seed.ts";
import { createLeaseAnswer, createSweptWorld } from "#test/sweep/sweep-builders.ts";

const CLUSTERS = 1_000;
const REPLICAS = 2;
const HOME = "/serverless-ccm/clusters/";
const STOPS = "/serverless-ccm/clusters-stop/";
const MINUTE_MS = 60_000;
/** SSM allows 2,400 by default, of which others have a part. */
const MAX_CALLS = 1_000;
const MINUTES = 4;
/**
 * What the idle clusters of a deployment are looked at for: nodes every five minutes, orphans and Services
 * every ten.
 */
const LOOKS = [
  { everyMs: 5 * MINUTE_MS, deletes: false },
  { everyMs: 10 * MINUTE_MS, deletes: true },
  { everyMs: 10 * MINUTE_MS, deletes: true },
];
/** Of each function, as Lambda keeps them warm for some events a second. */
const ENVIRONMENTS = 3;

let draws = 0;

/** Draws of the run's seed; each caller has others. */
function createDraws(): () => number {
  draws += 1;
  return createRandom(SEED + draws).next;
}

/** A process that knows the clusters and what is stopped: a warm function, or one that sweeps. */
function createEnvironment(parameters: ThrottledParameters, clock: ManualClock, readsAll: boolean) {
  const now = () => clock.wallTime().getTime();
  const store = async () => parameters.store();
  const random = createDraws();
  const look = createStopReader({
    stopSwitch: createSsmSwitch(STOPS, { store }),
    now,
    log: () => {},
    // By the machine's clock, which is not the test's.
    timeoutMs: 600_000,
    readsAll,
  });
  return { clusters: createSsmRegistry(HOME, { store, now, random }).byName(), look };
}

test("1,000 idle clusters, two relays and the sweep ask for less than half of what SSM's default quota allows", async () => {
  const clock = createManualClock();
  const random = createDraws();
  const parameters = createThrottledParameters(clock, random);
  const names = Array.from({ length: CLUSTERS }, (_, number) => `tenant-${number}`);
  for (const name of names) parameters.values.set(HOME + name, JSON.stringify(buildEntry(name)));
  parameters.values.set(`${STOPS}deletes.tenant-7`, "{}");
  const ending = new AbortController();
  const { signal } = ending;
  const log = (): void => {};
  const seen = new Map<Stop | "none", number>();
  const note = (stop: Stop | undefined): void =>
    void seen.set(stop ?? "none", (seen.get(stop ?? "none") ?? 0) + 1);
  const faults: string[] = [];

  const stops: StopsFollower[] = [];
  for (let replica = 0; replica < REPLICAS; replica += 1) {
    const store = async () => parameters.store();
    void createSsmRegistry(HOME, { store }).follow({
      ...{ signal, clock, random },
      onContent: () => {},
      onError: ({ message }) => faults.push(message),
    });
    stops.push(followStops({ stopSwitch: createSsmSwitch(STOPS, { store }), signal, log, clock, random }));
    // As replicas are rolled out, one after the other.
    await clock.advance(MINUTE_MS / REPLICAS);
  }

  const world = createSweptWorld();
  world.lease = () => createLeaseAnswer(0)(clock.wallTime());
  const sweepWorldOf = (environment: ReturnType<typeof createEnvironment>): DispatchDependencies => ({
    clusters: () => environment.clusters.all(),
    clustersNamed: (wanted) => environment.clusters.named(wanted),
    handOnEveryMs: 200,
    handOn: async ({ clusters, at }) => {
      const shard = Number(clusters[0]?.slice("tenant-".length)) / clusters.length;
      const own = shards[shard] ?? createEnvironment(parameters, clock, true);
      shards[shard] = own;
      results.push(swept(sweep({ kind: "shard", shard: { clusters, at } }, sweepWorldOf(own), { signal })));
    },
    log: ({ level, event }) => {
      if (level !== "info") faults.push(String(event));
    },
    api: async () => world.transport,
    invoker: { invoke: async () => ({ kind: "failed", code: "Denied", message: "none", settleMs: 0 }) },
    readStop: async (cluster) => {
      const stop = await environment.look(cluster);
      note(stop);
      return stop;
    },
    ...{ random, clock, identity: "test", turns: createSweepTurns(clock) },
  });
  const swept = (result: Promise<SweepResult>): Promise<{ readonly clusters: number }> =>
    result.catch(({ message }: Error) => {
      faults.push(message);
      return { clusters: 0 };
    });
  const shards: ReturnType<typeof createEnvironment>[] = [];
  const results: Promise<{ readonly clusters: number }>[] = [];
  const dispatcher = sweepWorldOf(createEnvironment(parameters, clock, true));
  const functions = LOOKS.map((each) => ({
    ...each,
    environments: Array.from({ length: ENVIRONMENTS }, () => createEnvironment(parameters, clock, false)),
  }));

  for (const { everyMs, deletes, environments } of functions) {
    let turn = 0;
    const next = (): void => {
      if (signal.aborted) return;
      clock.after(everyMs / CLUSTERS, next);
      const name = names[turn % CLUSTERS] ?? "";
      turn += 1;
      const environment = environments[Math.floor(random() * ENVIRONMENTS)];
      void environment?.clusters(name).catch(({ message }: Error) => faults.push(message));
      if (deletes) void environment?.look(name).then(note);
    };
    next();
  }

  const perMinute: number[] = [];
  for (let minute = 0; minute < MINUTES; minute += 1) {
    const before = parameters.arrivals.length;
    results.push(swept(sweep({ kind: "all", atMs: clock.wallTime().getTime() }, dispatcher, { signal })));
    await clock.advance(MINUTE_MS);
    perMinute.push(parameters.arrivals.length - before);
    for (const each of stops) for (const name of names) note(each.get(name));
  }
  ending.abort();
  const sweptClusters = (await Promise.all(results)).reduce((sum, { clusters }) => sum + clusters, 0);
  expect({
    swept: sweptClusters,
    unproven: seen.get("unproven") ?? 0,
    faults: [...new Set(faults)],
    callsBeyond: perMinute.filter((calls) => calls > MAX_CALLS),
  }).toEqual({ swept: MINUTES * CLUSTERS, unproven: 0, faults: [], callsBeyond: [] });
  // Every reader learns of a stop.
  expect(seen.get("deletes")).toBeGreaterThan(MINUTES * REPLICAS);
}, 120_000);
