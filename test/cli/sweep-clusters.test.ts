import { afterEach, expect, test } from "vitest";
import { type SweepingClusters, sweepClusters } from "#cli/run/run-parts.ts";
import type { Transport } from "#kube/client/transport.ts";
import { createManualClock } from "#test/kube/follow/manual-clock.ts";
import { buildCluster } from "#test/sweep/sweep-builders.ts";

let sweeping: SweepingClusters | undefined;
afterEach(() => sweeping?.close());

/** Records when each cluster's Lease was read; `never` are clusters whose API server does not answer. */
function given(names: readonly string[], never: readonly string[] = []) {
  const clock = createManualClock();
  const startMs = clock.now();
  const sweptAt = new Map<string, number[]>(names.map((name) => [name, []]));
  const parts = [0.1, 0.4, 0.7];
  sweeping = sweepClusters({
    clock,
    random: () => parts.shift() ?? 0.5,
    log: () => {},
    invoker: { invoke: () => Promise.reject(new Error("an invocation is not expected")) },
    api: async ({ name }) => transportOf(name),
  });

  function transportOf(name: string): Transport {
    return {
      close: async () => {},
      stream: () => Promise.reject(new Error("nothing is followed")),
      send({ path, signal }) {
        if (path.includes("/leases/")) sweptAt.get(name)?.push(Math.round((clock.now() - startMs) / 1_000));
        const renewTime = clock.wallTime().toISOString();
        const body = { metadata: {}, spec: { holderIdentity: "serverless-ccm-relay", renewTime } };
        if (!never.includes(name))
          return Promise.resolve({ status: 200, headers: {}, body: JSON.stringify(body) });
        return new Promise((_, reject) =>
          signal?.addEventListener("abort", () => reject(new Error("aborted")), { once: true }),
        );
      },
    };
  }

  const all = sweeping;
  for (const name of names) all.add(buildCluster(name));
  return { clock, sweptAt, all };
}

test("sweeps each cluster once a minute, not all at once, and no removed one", async () => {
  const { clock, sweptAt, all } = given(["blue", "green", "red"]);
  await clock.advance(150_000);
  await all.remove("green");
  await clock.advance(60_000);
  expect(Object.fromEntries(sweptAt)).toEqual({ blue: [66, 126, 186], green: [84, 144], red: [102, 162] });
});

test("a cluster whose API server never answers delays no other", async () => {
  const { clock, sweptAt } = given(["blue", "green"], ["blue"]);
  await clock.advance(210_000);
  expect(sweptAt.get("green")).toEqual([84, 144, 204]);
});
