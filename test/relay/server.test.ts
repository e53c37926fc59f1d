import { afterEach, describe, expect, test } from "vitest";
import type { ConfigurationFault, FollowedCluster } from "#relay/followed-cluster.ts";
import { createRelayMetrics } from "#relay/report/metrics.ts";
import { type RelayServer, startRelayServer } from "#relay/server.ts";

const servers: RelayServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

const clusterStatus = (name: string, ready: boolean, fault?: ConfigurationFault): FollowedCluster => ({
  name,
  ready,
  invocations: 0,
  failure: ready ? undefined : { code: "Forbidden", message: "403: no" },
  objects: 0,
  needed: 0,
  inFlight: 0,
  due: { work: 0, look: 0 },
  limited: [],
  controllers: [],
  configurationFault: fault,
});

async function serve(
  clusters: Readonly<Record<string, boolean>>,
  faults: Readonly<Record<string, ConfigurationFault>> = {},
): Promise<RelayServer> {
  const status = () =>
    Object.entries(clusters).map(([name, ready]) => clusterStatus(name, ready, faults[name]));
  const metrics = createRelayMetrics();
  metrics.follow(status);
  const relay = { status, ready: () => status().every((each) => each.ready) };
  const server = await startRelayServer({ relay, metrics, bindAddress: "127.0.0.1", port: 0 });
  servers.push(server);
  return server;
}

describe("startRelayServer", () => {
  test.each([
    { clusters: { one: false }, path: "/healthz", status: 200, text: "ok" },
    { clusters: { one: true }, path: "/readyz", status: 200, text: "ok" },
    { clusters: { one: false }, path: "/readyz", status: 503, text: "Forbidden: 403: no" },
    { clusters: { one: false, two: true }, path: "/readyz", status: 200, text: "ok" },
    {
      clusters: { one: false, two: true },
      path: "/readyz/clusters/one",
      status: 503,
      text: "cluster one is not ready",
    },
    { clusters: { one: false, two: true }, path: "/readyz/clusters/two", status: 200, text: "ok" },
    { clusters: { one: true }, path: "/readyz/clusters/none", status: 404, text: "no such cluster" },
    { clusters: { one: true }, path: "/readyz/clusters/", status: 404, text: "not found" },
    { clusters: { one: true }, path: "/readyz?verbose", status: 200, text: "ok" },
    { clusters: { one: true }, path: "/", status: 404, text: "not found" },
    {
      clusters: { one: true },
      path: "/metrics",
      status: 200,
      text: 'serverless_ccm_cluster_ready{cluster="one"} 1',
    },
    {
      clusters: { one: false },
      path: "/metrics",
      status: 200,
      text: 'serverless_ccm_cluster_ready{cluster="one"} 0',
    },
  ] satisfies readonly { clusters: Record<string, boolean>; path: string; status: number; text: string }[])(
    "$path with clusters $clusters answers $status",
    async ({ clusters, path, status, text }) => {
      const server = await serve(clusters);
      const answer = await fetch(server.url + path);
      expect([answer.status, await answer.text()]).toEqual([status, expect.stringContaining(text)]);
    },
  );

  test.each([
    [
      "goes on as before",
      true,
      200,
      "ok, as it was configured before: Invalid: clusters[0].server: Invalid URL\n",
    ],
    ["is not followed", false, 503, "Forbidden"],
  ])("a cluster whose entry is faulty and that %s", async (_, ready, status, text) => {
    const fault = { code: "Invalid", message: "clusters[0].server: Invalid URL" };
    const server = await serve({ one: ready, two: true }, { one: fault });
    const answer = await fetch(`${server.url}/readyz/clusters/one`);
    expect([answer.status, await answer.text()]).toEqual([status, expect.stringContaining(text)]);
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    expect(metrics).toContain('serverless_ccm_cluster_misconfigured{cluster="one"} 1');
    expect(metrics).toContain('serverless_ccm_cluster_misconfigured{cluster="two"} 0');
  });

  test("answers GET alone", async () => {
    const server = await serve({ one: true });
    expect((await fetch(`${server.url}/healthz`, { method: "POST" })).status).toBe(405);
  });

  test("rejects where the port is taken", async () => {
    const { port } = await serve({ one: true });
    const relay = { status: () => [], ready: () => false };
    const second = startRelayServer({ relay, metrics: createRelayMetrics(), bindAddress: "127.0.0.1", port });
    await expect(second).rejects.toMatchObject({ code: "EADDRINUSE" });
  });

  test("close frees the port, whoever is still connected", async () => {
    const server = await serve({ one: true });
    await fetch(`${server.url}/healthz`);
    await server.close();
    await expect(fetch(`${server.url}/healthz`)).rejects.toThrow();
  });
});
