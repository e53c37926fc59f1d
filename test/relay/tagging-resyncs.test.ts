import { afterEach, expect, test } from "vitest";
import { Cluster } from "#config/cluster.ts";
import { TAGS_LABEL } from "#core/contracts.ts";
import { taggingWatch } from "#core/tagging/watch.ts";
import { type Relay, startRelay } from "#relay/relay.ts";
import { createManualClock } from "#test/kube/follow/manual-clock.ts";
import { createFakeCluster } from "#test/relay/fake-cluster.ts";
import { createFakeFunctions } from "#test/relay/fake-functions.ts";
import { buildReport } from "#test/relay/report-builders.ts";

const relays: Relay[] = [];
afterEach(async () => {
  for (const relay of relays.splice(0)) await relay.close();
});

const on = (providerID: string, labels: Record<string, string> = {}, more: object = {}) => ({
  metadata: { labels, ...more },
  spec: { providerID },
});
const DONE = { [TAGS_LABEL]: "sum" };

/**
 * Starts a relay that has sent three nodes to the tagging function once: `tagged`, `waiting` and `unknown`.
 */
async function start() {
  const { transport, collections } = createFakeCluster("nodes", "namespaces");
  collections.namespaces.put("kube-system", {});
  collections.nodes.put("tagged", on("aws:///a/i-1", DONE));
  collections.nodes.put("waiting", on("aws:///a/i-2"));
  collections.nodes.put("unknown", { spec: {} });
  const clock = createManualClock();
  const functions = createFakeFunctions(collections.nodes);
  functions.behave((event) => ({ kind: "report", report: buildReport(event) }));
  const relay = startRelay({
    clusters: [
      {
        cluster: Cluster.parse({
          name: "one",
          server: "https://fake.invalid",
          cloud: { provider: "memory", instancesFile: "/none" },
          controllers: [taggingWatch.name],
        }),
        transport,
      },
    ],
    invoker: functions,
    identity: "test",
    nodeStatusUpdateFrequencySeconds: 100_000,
    watches: [taggingWatch],
    clock,
    random: () => 0.5,
  });
  relays.push(relay);
  await clock.advance(60_000);
  expect(functions.events).toHaveLength(1);
  return { nodes: collections.nodes, clock, functions };
}
type World = Awaited<ReturnType<typeof start>>;

test.each<[string, (nodes: World["nodes"]) => void, looks: 0 | 1]>([
  ["a node joins", (nodes) => nodes.put("new", on("aws:///a/i-3")), 1],
  ["a node joins without a provider ID", (nodes) => nodes.put("new", { spec: {} }), 0],
  [
    "a node joins whose label says that it is tagged",
    (nodes) => nodes.put("new", on("aws:///a/i-3", DONE)),
    0,
  ],
  ["a node gets its provider ID", (nodes) => nodes.put("unknown", on("aws:///a/i-3")), 1],
  ["a node's provider ID is another", (nodes) => nodes.put("tagged", on("aws:///a/i-9", DONE)), 1],
  ["our label says that a node is tagged", (nodes) => nodes.put("waiting", on("aws:///a/i-2", DONE)), 0],
  ["the label is taken away", (nodes) => nodes.put("tagged", on("aws:///a/i-1")), 1],
  ["other labels change", (nodes) => nodes.put("tagged", on("aws:///a/i-1", { ...DONE, a: "b" })), 0],
  [
    "a node is about to go",
    (nodes) => nodes.put("tagged", on("aws:///a/i-1", DONE, { deletionTimestamp: "2026-01-01T00:00:00Z" })),
    0,
  ],
  ["a node is gone", (nodes) => nodes.remove("tagged"), 1],
  ["a node is gone that had no provider ID", (nodes) => nodes.remove("unknown"), 0],
])("when %s", async (_, change, looks) => {
  const { nodes, clock, functions } = await start();
  change(nodes);
  await clock.advance(5_000);
  expect(functions.events.slice(1).map(({ reason }) => reason)).toEqual(looks === 1 ? ["watch"] : []);
});

test("changes without relevance are in the next resync", async () => {
  const { nodes, clock, functions } = await start();
  nodes.put("waiting", on("aws:///a/i-2", DONE));
  nodes.remove("unknown");
  await clock.advance(5_000);
  expect(functions.events).toHaveLength(1);
  nodes.put("new", on("aws:///a/i-3"));
  await clock.advance(5_000);
  expect(functions.events.at(-1)?.related?.["nodes"]?.items).toMatchObject([
    { metadata: { name: "tagged", labels: DONE } },
    { metadata: { name: "waiting", labels: DONE } },
    { metadata: { name: "new", labels: {} } },
  ]);
});
