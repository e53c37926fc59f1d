import { afterEach, beforeEach, expect, test } from "vitest";
import { createPrivateSweeps } from "#cli/run/sweep-every-minute.ts";
import { systemClock } from "#kube/follow/clock.ts";
import { createWritingInvoker } from "#relay/delivery/writing-invoker.ts";
import type { Sweeping } from "#relay/relay.ts";
import { createManualClock } from "#test/kube/follow/manual-clock.ts";
import { type PrivateCluster, startPrivateCluster } from "#test/relay/delivery/private-cluster.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

let world: PrivateCluster;
beforeEach(async () => {
  world = await startPrivateCluster();
});
afterEach(() => world.close());

test("what the relay's watches have missed is initialized by its own sweep, which lists as the sweep would", async () => {
  const transport = await world.connect();
  const { cluster, invoker } = world;
  const clock = createManualClock(Date.now());
  const lines: Record<string, unknown>[] = [];
  const reads: (() => ReadonlyMap<string, number>)[] = [];
  const sweep = createPrivateSweeps({
    metrics: { followSweep: (read) => reads.push(read) },
    log: (line) => lines.push({ ...line }),
    clock,
    random: () => 0,
  });
  const idle = { ...cluster, name: "tenant-b", policies: { ...cluster.policies, dryRun: true } };
  const started: Sweeping[] = [cluster, idle].map((each) =>
    sweep({
      cluster: each,
      transport,
      invoker: createWritingInvoker({ cluster, transport, invoker, clock: systemClock }),
    }),
  );
  await world.join("node-1", "node-2");
  await clock.advance(60_000);
  await world.untilUp(2);
  await waitUntilTrue("the sweep to end", () => lines.some((line) => line["cluster"] === "tenant-a"));
  expect(lines.find((line) => line["cluster"] === "tenant-a")).toMatchObject({
    ...{ event: "SweepFinished", mode: "full", listed: 2, objects: 2, unreported: 0 },
  });
  expect(reads).toHaveLength(1);
  const records = await world.plane.record();
  expect(
    records.filter(({ verb, user }) => verb === "list" && user !== "admin").map(({ user }) => user),
  ).toContain("serverless-ccm-sweep");
  for (const sweeping of started) await sweeping.close();
  expect(reads[0]?.().size).toBe(0);
  await transport.close();
});

test("clusters that start together are swept one after another in a minute", async () => {
  const clock = createManualClock();
  const draws = [0, 0.5];
  const sweep = createPrivateSweeps({
    metrics: { followSweep: () => {} },
    log: () => {},
    clock,
    random: () => draws.shift() ?? 0,
  });
  const asked: string[] = [];
  const started = ["one", "two"].map((name) =>
    sweep({
      cluster: { ...world.cluster, name },
      transport: {
        async send() {
          asked.push(name);
          throw new Error("no server");
        },
        stream: () => Promise.reject(new Error("no server")),
        close: async () => {},
      },
      invoker: world.invoker,
    }),
  );
  await clock.advance(60_000);
  expect(new Set(asked)).toEqual(new Set(["one"]));
  await clock.advance(30_000);
  expect(new Set(asked)).toEqual(new Set(["one", "two"]));
  for (const sweeping of started) await sweeping.close();
});
