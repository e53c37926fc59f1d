import { afterAll, beforeAll, expect, test } from "vitest";
import { buildWatchContext, Cluster } from "#config/cluster.ts";
import { nodeWatch } from "#core/node/watch.ts";
import { type FunctionUnderTest, startFunction } from "#test/functions/function-under-test.ts";

let given: FunctionUnderTest;
beforeAll(async () => {
  given = await startFunction();
});
afterAll(() => given.close());

const RACK = "example.com/rack";
const TYPE = "node.kubernetes.io/instance-type";

/** A joined node whose instance now has another label and another type. */
async function joined(name: string): Promise<void> {
  const [node] = await given.join(name);
  await given.invoke(given.event([node]));
  const instance = given.cloud.instances.get(name);
  if (instance === undefined) throw new Error(`there is no instance ${name}`);
  given.cloud.instances.set(name, {
    ...instance,
    type: "m2.large",
    labels: { [RACK]: "r-1", "bad label": "x" },
  });
}

async function refreshed(name: string, labels: object, requests: () => Promise<number>) {
  const cluster = Cluster.parse({ ...given.entry, nodes: { labels } });
  const clusters = async () => cluster;
  const snapshot = nodeWatch.snapshot(await given.api.read(name), buildWatchContext(cluster));
  const event = given.event([snapshot], { reason: "refresh", clusterHash: cluster.hash });
  const before = await requests();
  const { objects } = await given.invoke(event, { clusters });
  const { metadata } = await given.api.read(name);
  return {
    outcome: objects[0]?.outcome,
    requests: (await requests()) - before,
    rack: metadata.labels?.[RACK],
    type: metadata.labels?.[TYPE],
  };
}

test.each([
  ["missing", { addMissing: true }, { rack: "r-1", type: "m1.large" }],
  ["differing", { addMissing: false, correctDiffering: true }, { rack: undefined, type: "m2.large" }],
  ["both", { correctDiffering: true }, { rack: "r-1", type: "m2.large" }],
])(
  "labels that are %s are set with one write at a refresh, and not again at the next",
  async (name, labels, after) => {
    await joined(name);
    const first = await refreshed(name, labels, () => given.requests());
    expect(first).toEqual({ outcome: "changed", requests: 1, ...after });
    const second = await refreshed(name, labels, () => given.requests());
    expect(second).toEqual({ outcome: "unchanged", requests: 0, ...after });
  },
);

test("without either setting nothing is written", async () => {
  await joined("neither");
  const labels = { addMissing: false, correctDiffering: false };
  expect(await refreshed("neither", labels, () => given.requests())).toEqual({
    outcome: "unchanged",
    requests: 0,
    rack: undefined,
    type: "m1.large",
  });
});
