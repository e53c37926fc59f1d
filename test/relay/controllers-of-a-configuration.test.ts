import { afterEach, expect, test } from "vitest";
import { Cluster } from "#config/cluster.ts";
import type { Event } from "#core/event.ts";
import { type Relay, startRelay } from "#relay/relay.ts";
import { createManualClock } from "#test/kube/follow/manual-clock.ts";
import { createFakeCluster } from "#test/relay/fake-cluster.ts";
import { buildReport } from "#test/relay/report-builders.ts";
import { createSweptWorld } from "#test/sweep/sweep-builders.ts";

const relays: Relay[] = [];
afterEach(async () => {
  for (const relay of relays.splice(0)) await relay.close();
});

const DROPLETS = { provider: "digitalocean", region: "fra1", dropletTag: "k8s-workers" };
const FIREWALL = { ...DROPLETS, publicAccessFirewall: { name: "k8s-public", tags: ["k8s-workers"] } };
const MEMORY = { provider: "memory", instancesFile: "/none" };
const CONTROLLERS = ["service-lb-controller"];
const ROWS: readonly (readonly [string, Record<string, unknown>, readonly string[]])[] = [
  ["another cloud", MEMORY, []],
  ["the cloud without it", DROPLETS, []],
  ["a firewall", FIREWALL, ["firewall-controller"]],
  ["a tag for load balancers", { ...DROPLETS, clusterID: "7b1c" }, ["service-lb-tags"]],
];

/** Returns the controllers of these events that are enabled only by a cluster's configuration. */
function beside(events: readonly Event[]): string[] {
  const names = new Set(events.map(({ controller }) => controller));
  return [...names].filter((name) => name !== "service-lb-orphans" && name !== "service-lb-controller");
}

test.each(ROWS)(
  "a relay of a cluster with %s invokes the controllers that it concerns",
  async (_given, cloud, names) => {
    const { transport, collections } = createFakeCluster("nodes", "services", "namespaces");
    collections.namespaces.put("kube-system");
    collections.services.put("web", { metadata: { namespace: "default" }, spec: { type: "ClusterIP" } });
    const clock = createManualClock();
    const events: Event[] = [];
    const server = "https://fake.invalid";
    relays.push(
      startRelay({
        clusters: [
          { cluster: Cluster.parse({ name: "one", server, cloud, controllers: CONTROLLERS }), transport },
        ],
        invoker: {
          async invoke(event) {
            events.push(event);
            return { kind: "report", report: buildReport(event) };
          },
          close: () => Promise.resolve(),
        },
        identity: "test",
        nodeStatusUpdateFrequencySeconds: 300,
        clock,
        random: () => 0.5,
      }),
    );
    await clock.advance(1_900_000);
    expect(beside(events)).toEqual(names);
    const before = events.length;
    const ports = [{ port: 80, nodePort: 30080 }];
    collections.services.put("web", {
      metadata: { namespace: "default" },
      spec: { type: "NodePort", ports },
    });
    await clock.advance(5_000);
    // The firewall handles a Service's exposed ports at once, the tags at their next turn.
    const woken = events.slice(before).map(({ controller }) => controller);
    expect(woken.includes("firewall-controller")).toBe(names.includes("firewall-controller"));
  },
);

test.each(ROWS)(
  "the sweep of a cluster with %s invokes the same controllers",
  async (_given, cloud, names) => {
    const world = createSweptWorld({ entry: { controllers: CONTROLLERS, cloud } });
    world.invoke = async (event) => ({ kind: "report", report: buildReport(event) });
    world.namespaces.put("kube-system");
    world.services.put("web", { metadata: { namespace: "default" } });
    const first = Math.floor(world.clock.wallTime().getTime() / 60_000);
    for (let minute = first; minute < first + 15; minute += 1) await world.sweep({ minute });
    expect(beside(world.events)).toEqual(names);
  },
);
