import { afterEach, expect, test } from "vitest";
import { Cluster } from "#config/cluster.ts";
import type { Event } from "#core/event.ts";
import type { ObjectReport } from "#core/report.ts";
import { type Relay, startRelay } from "#relay/relay.ts";
import { createRelayMetrics } from "#relay/report/metrics.ts";
import type { OutcomeLine } from "#relay/report/outcome-line.ts";
import { createManualClock } from "#test/kube/follow/manual-clock.ts";
import { createFakeCluster } from "#test/relay/fake-cluster.ts";
import { buildReport, parseIdentity } from "#test/relay/report-builders.ts";

const relays: Relay[] = [];
afterEach(async () => {
  for (const relay of relays.splice(0)) await relay.close();
});

const CONTROLLER = "service-lb-orphans";
const ORPHANS: NonNullable<ObjectReport["orphans"]> = {
  count: 2,
  named: [{ kind: "load balancer", id: "lb", name: "lb", service: "default/gone", code: "ServiceGone" }],
};

/**
 * Starts a relay of one cluster with these controllers. Returns what it sends to the audit of orphans, and
 * what it reports.
 */
async function start(controllers: readonly string[]) {
  const { transport, collections } = createFakeCluster("nodes", "services", "namespaces");
  collections.namespaces.put("kube-system");
  const clock = createManualClock();
  const metrics = createRelayMetrics();
  const audits: Event[] = [];
  const lines: OutcomeLine[] = [];
  let orphans: ObjectReport["orphans"] = ORPHANS;
  const relay = startRelay({
    clusters: [
      {
        cluster: Cluster.parse({
          name: "one",
          server: "https://fake.invalid",
          cloud: { provider: "memory", instancesFile: "/none" },
          controllers,
        }),
        transport,
      },
    ],
    invoker: {
      async invoke(event) {
        if (event.controller !== CONTROLLER) return { kind: "report", report: buildReport(event) };
        audits.push(event);
        return {
          kind: "report",
          report: buildReport(event, () => (orphans === undefined ? {} : { orphans })),
        };
      },
      close: () => Promise.resolve(),
    },
    identity: "test",
    nodeStatusUpdateFrequencySeconds: 300,
    metrics,
    onOutcome: (line) => void lines.push(line),
    clock,
    random: () => 0.5,
  });
  relays.push(relay);
  const gauge = async () =>
    (await metrics.text())
      .split("\n")
      .filter((line) => line.startsWith("serverless_ccm_orphaned_load_balancers{"));
  await clock.advance(0);
  return {
    ...{ clock, audits, lines, gauge, services: collections.services },
    report: (told: ObjectReport["orphans"]) => {
      orphans = told;
    },
  };
}

test("load balancers without a Service are searched every ten minutes, with all Services, logged and counted", async () => {
  const { clock, audits, lines, gauge, services, report } = await start(["service-lb-controller"]);
  services.put("web", { metadata: { namespace: "default" }, spec: { type: "ClusterIP" } });
  expect(await gauge()).toEqual([]);
  await clock.advance(1_300_000);
  expect(audits.length).toBeGreaterThanOrEqual(1);
  expect(audits.length).toBeLessThanOrEqual(3);
  for (const { objects, reason, related } of audits) {
    expect([objects.map((object) => parseIdentity(object).name), reason]).toEqual([
      ["kube-system"],
      "refresh",
    ]);
    expect(related?.["services"]?.items).toHaveLength(1);
  }
  expect(await gauge()).toEqual(['serverless_ccm_orphaned_load_balancers{cluster="one"} 2']);
  expect(lines.filter(({ event }) => event === "OrphanedLoadBalancer")[0]).toMatchObject({
    cluster: "one",
    controller: CONTROLLER,
    target: "lb",
    namespace: "default",
    name: "gone",
    count: 2,
  });
  // A failed audit does not change their number.
  report(undefined);
  await clock.advance(700_000);
  expect(await gauge()).toEqual(['serverless_ccm_orphaned_load_balancers{cluster="one"} 2']);
  report({ count: 0, named: [] });
  await clock.advance(700_000);
  expect(await gauge()).toEqual(['serverless_ccm_orphaned_load_balancers{cluster="one"} 0']);
});

test("Services that come and go cause no audit", async () => {
  const { clock, audits, services } = await start(["service-lb-controller"]);
  await clock.advance(10_000);
  const before = audits.length;
  for (let index = 0; index < 5; index += 1) {
    services.put(`web-${index}`, { metadata: { namespace: "default" } });
    await clock.advance(5_000);
  }
  expect(audits).toHaveLength(before);
});

test.each([[["cloud-node-controller"]], [["cloud-node-controller", CONTROLLER]]])(
  "with the controllers %o they are not searched",
  async (controllers) => {
    const { clock, audits } = await start(controllers);
    await clock.advance(1_300_000);
    expect(audits).toEqual([]);
  },
);
