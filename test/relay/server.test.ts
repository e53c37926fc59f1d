import { afterEach, describe, expect, test } from "vitest";
import type { ClusterState, NotFollowedReason } from "#relay/cluster-state.ts";
import type { PlatformState } from "#relay/delivery/check-platform.ts";
import { createRelayMetrics } from "#relay/report/metrics.ts";
import { type RelayServer, startRelayServer } from "#relay/server.ts";
import type { ShardStatus } from "#relay/sharding/shard.ts";

const servers: RelayServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

const MANY = { one: true, two: true };

const clusterStatus = (name: string, ready: boolean, fault?: NotFollowedReason): ClusterState => ({
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
  faults: Readonly<Record<string, NotFollowedReason>> = {},
  differences: Readonly<Record<string, Partial<ClusterState>>> = {},
  platform?: () => PlatformState | undefined,
  shard?: ShardStatus,
): Promise<RelayServer> {
  const status = () =>
    Object.entries(clusters).map(([name, ready]) => ({
      ...clusterStatus(name, ready, faults[name]),
      ...differences[name],
    }));
  const metrics = createRelayMetrics();
  metrics.follow(status);
  const relay = { status };
  const server = await startRelayServer({
    ...{ relay, metrics, values: metrics.values, platform, shard: shard && (() => shard) },
    bindAddress: "127.0.0.1",
    port: 0,
  });
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
      clusters: { one: false, two: false },
      path: "/readyz",
      status: 503,
      text: "none of 2 clusters is ready\n",
    },
    { clusters: {}, path: "/readyz", status: 503, text: "no cluster is followed\n" },
    {
      clusters: { one: false, two: true },
      path: "/readyz/clusters",
      status: 200,
      text: "one not ready: Forbidden: 403: no\ntwo ok\n",
    },
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
    { clusters: { one: true }, path: "/", status: 200, text: "1 of 1 clusters ready" },
    { clusters: { one: true }, path: "//", status: 404, text: "not found" },
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

  const SHARD: ShardStatus = { self: "a", replicas: ["a", "b"], isCutOff: false, own: 2, all: 5 };
  test.each<[string, Record<string, boolean>, Partial<ShardStatus>, number, string]>([
    ["has some of the clusters", MANY, {}, 200, "ok; replica a of a, b: 2 of 5 clusters\n"],
    [
      "has one that is not ready",
      { one: false },
      { own: 1 },
      503,
      "403: no; replica a of a, b: 1 of 5 clusters\n",
    ],
    ["has none, as all are others'", {}, { own: 0 }, 200, "ok; replica a of a, b: 0 of 5 clusters\n"],
    [
      "has some, and cannot begin",
      {},
      {},
      503,
      "no cluster is followed; replica a of a, b: 2 of 5 clusters\n",
    ],
    ["has no clusters, because none exist", {}, { own: 0, all: 0 }, 503, "no cluster is followed; replica a"],
    ["does not know who lives", {}, { replicas: undefined }, 503, "replica a: it is not known yet"],
    ["is cut off", MANY, { isCutOff: true }, 200, "cut off from the others, it continues with what it has\n"],
  ])("a replica that %s", async (_, clusters, difference, status, text) => {
    const server = await serve(clusters, {}, {}, undefined, { ...SHARD, ...difference });
    const answer = await fetch(`${server.url}/readyz`);
    expect([answer.status, await answer.text()]).toEqual([status, expect.stringContaining(text)]);
    expect(await (await fetch(server.url)).text()).toContain("replica a");
  });

  test.each([
    [
      "continues as before",
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

  test.each<[string, Partial<ClusterState>, ...(readonly [path: string, status: number, text: string])[]]>([
    [
      "objects are left out of",
      { limited: [{ limit: "objects", message: "12,000 nodes" }] },
      ["/readyz/clusters/one", 503, "cluster one is limited: objects: 12,000 nodes\n"],
      ["/readyz/clusters", 200, "one limited: objects: 12,000 nodes\ntwo ok\n"],
      ["/readyz", 200, "ok"],
    ],
    [
      "says more than the log takes",
      { limited: [{ limit: "logLines", message: "more than 10 lines a second" }] },
      ["/readyz/clusters/one", 200, "ok, limited: logLines: more than 10 lines a second\n"],
      ["/readyz/clusters", 200, "one limited: logLines: more than 10 lines a second\ntwo ok\n"],
    ],
    [
      "fails at a limit",
      {
        ready: false,
        failure: { code: "ClusterLimited", message: "a page of 17 MiB" },
        limited: [{ limit: "pageBytes", message: "a page of 17 MiB" }],
      },
      [
        "/readyz/clusters/one",
        503,
        "cluster one is not ready: ClusterLimited: a page of 17 MiB; limited: pageBytes: a page of 17 MiB\n",
      ],
      ["/readyz/clusters", 200, "one not ready: ClusterLimited: a page of 17 MiB\ntwo ok\n"],
    ],
    [
      "writes to terminals and forges lines",
      {
        ready: false,
        failure: {
          code: "Rejected",
          message: "400:\u001B[2J\u0007\nok\ncluster two is not ready: \u202Egone\u2028",
        },
      },
      [
        "/readyz/clusters/one",
        503,
        "cluster one is not ready: Rejected: 400:\\u{001B}[2J\\u{0007}\\u{000A}ok\\u{000A}cluster two is not ready: \\u{202E}gone\\u{2028}\n",
      ],
      [
        "/readyz/clusters",
        200,
        "one not ready: Rejected: 400:\\u{001B}[2J\\u{0007}\\u{000A}ok\\u{000A}cluster two is not ready: \\u{202E}gone\\u{2028}\ntwo ok\n",
      ],
    ],
    [
      "says 4 MB",
      { ready: false, failure: { code: "Rejected", message: "x".repeat(4_000_000) } },
      ["/readyz/clusters/one", 503, `cluster one is not ready: Rejected: ${"x".repeat(1_023)}…\n`],
      ["/readyz/clusters", 200, `one not ready: Rejected: ${"x".repeat(255)}…\ntwo ok\n`],
    ],
    [
      "is configured differently now",
      { configurationFault: { code: "Invalid", message: "server\u001B" } },
      ["/readyz/clusters", 200, "one misconfigured: Invalid: server\\u{001B}\ntwo ok\n"],
    ],
  ])("a cluster that %s", async (_, difference, ...pages) => {
    const server = await serve(MANY, {}, { one: difference });
    for (const [path, status, text] of pages) {
      const answer = await fetch(server.url + path);
      expect([path, answer.status, await answer.text()]).toEqual([path, status, text]);
    }
  });

  test("a page of very many clusters is cut", async () => {
    const names = Array.from({ length: 10_002 }, (_, index) => [`c${index}`, true] as const);
    const server = await serve(Object.fromEntries(names));
    const lines = (await (await fetch(`${server.url}/readyz/clusters`)).text()).split("\n");
    expect([lines.length, lines.at(-3), lines.at(-2)]).toEqual([10_002, "c9999 ok", "and 2 more"]);
  });

  test.each([
    ["that is not known yet", undefined, 200, "ok"],
    ["that answers", { reachable: true, message: "" }, 200, "ok"],
    [
      "that does not answer",
      { reachable: false, message: "Denied\n: no right" },
      503,
      "the function platform cannot be reached: Denied\\u{000A}: no right\n",
    ],
  ])("a platform %s", async (_, state, status, text) => {
    for (const clusters of [{ one: true }, MANY]) {
      const server = await serve(clusters, {}, {}, () => state);
      const answer = await fetch(`${server.url}/readyz`);
      expect([answer.status, await answer.text()]).toEqual([status, text]);
      expect((await fetch(`${server.url}/readyz/clusters/one`)).status).toBe(200);
    }
  });

  test("answers only GET", async () => {
    const server = await serve({ one: true });
    expect((await fetch(`${server.url}/healthz`, { method: "POST" })).status).toBe(405);
  });

  test("rejects if the port is taken", async () => {
    const { port } = await serve({ one: true });
    const metrics = createRelayMetrics();
    const second = startRelayServer({
      ...{ relay: { status: () => [] }, metrics, values: metrics.values },
      bindAddress: "127.0.0.1",
      port,
    });
    await expect(second).rejects.toMatchObject({ code: "EADDRINUSE" });
  });

  test("close frees the port despite open connections", async () => {
    const server = await serve({ one: true });
    await fetch(`${server.url}/healthz`);
    await server.close();
    await expect(fetch(`${server.url}/healthz`)).rejects.toThrow();
  });
});
