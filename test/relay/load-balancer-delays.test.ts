import { afterEach, expect, test } from "vitest";
import { Cluster } from "#config/cluster.ts";
import { type Relay, startRelay } from "#relay/relay.ts";
import { createRelayMetrics } from "#relay/report/metrics.ts";
import { createManualClock } from "#test/kube/follow/manual-clock.ts";
import { createFakeCluster } from "#test/relay/fake-cluster.ts";
import { buildReport } from "#test/relay/report-builders.ts";

/** Fields of every Service. */
const IDENTITY = { metadata: { namespace: "default" } };

const CLASS = "kube-vip.io/kube-vip-class";

const relays: Relay[] = [];
afterEach(async () => {
  for (const relay of relays.splice(0)) await relay.close();
});

/** Returns how many delays of load balancers are counted for a Service of this class that gets an address. */
async function countDelays(loadBalancerClass: string | undefined, enableLoadBalancerClass: boolean) {
  const { transport, collections } = createFakeCluster("nodes", "services", "namespaces");
  const { services } = collections;
  const clock = createManualClock();
  const metrics = createRelayMetrics();
  const cloud = { provider: "kubevip", enableLoadBalancerClass };
  const cluster = Cluster.parse({
    ...{ name: "one", server: "https://fake.invalid", cloud, controllers: ["service-lb-controller"] },
  });
  const relay = startRelay({
    clusters: [{ cluster, transport }],
    invoker: {
      invoke: async (event) => ({
        kind: "report",
        // The function writes the next version.
        report: buildReport(event, () => ({
          outcome: "changed",
          resourceVersion: `${services.version() + 1}`,
        })),
      }),
      close: () => Promise.resolve(),
    },
    ...{ identity: "test", nodeStatusUpdateFrequencySeconds: 300, metrics, clock, random: () => 0.5 },
  });
  relays.push(relay);
  await clock.advance(0);
  const spec = {
    ...{ type: "LoadBalancer", ports: [{ port: 80, protocol: "TCP", nodePort: 30_000 }] },
    ...(loadBalancerClass === undefined ? {} : { loadBalancerClass }),
  };
  services.put("web", { ...IDENTITY, spec, status: {} });
  await clock.advance(1_000);
  services.put("web", { ...IDENTITY, spec, status: { loadBalancer: { ingress: [{ ip: "10.0.0.1" }] } } });
  await clock.advance(1_000);
  const line = (await metrics.text())
    .split("\n")
    .find((each) => each.startsWith("serverless_ccm_load_balancer_delay_seconds_count"));
  return Number(line?.split(" ").at(-1) ?? 0);
}

test.each([
  { with: "without a class", of: undefined, enabled: false, counted: 1 },
  { with: "of kube-vip's class", of: CLASS, enabled: true, counted: 1 },
  { with: "of kube-vip's class, which is not enabled,", of: CLASS, enabled: false, counted: 0 },
  { with: "without a class beside kube-vip's", of: undefined, enabled: true, counted: 0 },
])("the delay of a Service $with is counted $counted times", async ({ of, enabled, counted }) => {
  expect(await countDelays(of, enabled)).toBe(counted);
});
