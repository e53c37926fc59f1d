import { describe, expect, test } from "vitest";
import type { ControllerStatus } from "#relay/cluster-relay.ts";
import { type FollowedCluster, notFollowed } from "#relay/followed-cluster.ts";
import { createPage } from "#relay/page/create-page.ts";
import { renderPage } from "#relay/page/page.ts";
import { CONTENT_SECURITY_POLICY } from "#relay/page/parts.ts";
import { createRelayMetrics, type RelayMetrics } from "#relay/report/metrics.ts";
import { startRelayServer } from "#relay/server.ts";
import { mergeValues } from "#relay/workers/merge-metrics.ts";
import { createManualClock } from "#test/kube/follow/manual-clock.ts";
import { all, parsePage } from "#test/relay/page/parsed-page.ts";

const NOW_MS = Date.parse("2026-03-01T12:00:00Z");

const clusterOf = (name: string, difference: Partial<FollowedCluster> = {}): FollowedCluster => ({
  ...{ name, ready: true, failure: undefined, configurationFault: undefined, limited: [], controllers: [] },
  ...{ invocations: 1, objects: 300, needed: 0, inFlight: 0, due: { work: 0, look: 0 } },
  ...difference,
});

const controllerOf = (
  name: ControllerStatus["name"],
  ...waiting: readonly (readonly [reason: string, count: number, sinceMs: number, oldest: string])[]
): ControllerStatus => ({
  ...{ name, invocations: 0, objects: 300, needed: 0, inFlight: 0, due: { work: 0, look: 0 } },
  waiting: waiting.map(([reason, count, sinceMs, oldest]) => ({
    ...({ reason, count, age: NOW_MS - sinceMs < 60_000 ? "lt1m" : "lt10m" } as const),
    oldest: { name: oldest, sinceMs },
  })),
});

async function pageOf(clusters: readonly FollowedCluster[], metrics = createRelayMetrics()) {
  const values = await metrics.values();
  return parsePage(renderPage({ clusters, platform: undefined, metrics: values, nowMs: NOW_MS }));
}

/** The cells of each cluster, without the histogram's picture. */
const rowsOf = (page: Awaited<ReturnType<typeof pageOf>>): readonly (readonly string[])[] =>
  all(page, "tbody").flatMap((body) =>
    all(body, "tr").map((row) =>
      row.within.filter(({ tag }) => tag === "th" || tag === "td").map(({ text }) => text),
    ),
  );

function joined(metrics: RelayMetrics, cluster: string, ...seconds: readonly number[]): void {
  const metric = "node_controller_cloud_provider_taint_removal_delay_seconds";
  for (const each of seconds) metrics.observe({ cluster, kind: "delay", metric, seconds: each } as never);
}

describe("the page of all clusters", () => {
  test("says of each what waits, why, since when, its gap, budget and brake, and how long joining took", async () => {
    const metrics = createRelayMetrics();
    metrics.followSweep(() => new Map([["busy", 3]]));
    joined(metrics, "busy", 0.3, 0.4, 0.2, 7);
    const page = await pageOf(
      [
        clusterOf("well"),
        clusterOf("busy", {
          needed: 12,
          inFlight: 4,
          limited: [{ limit: "unresponsive", message: "its invocations are slow" }],
          controllers: [
            controllerOf("cloud-node-controller", ["InstanceNotFound", 2, NOW_MS - 300_000, "ip-10-0-1-17"]),
            controllerOf(
              "cloud-node-lifecycle-controller",
              ["BrakePulled", 5, NOW_MS - 120_000, "ip-10-0-1-9"],
              ["BrakePulled", 2, NOW_MS - 30_000, "ip-10-0-1-8"],
            ),
          ],
        }),
        notFollowed("lost", { code: "Invalid", message: "server: Invalid URL" }),
      ],
      metrics,
    );
    const nothing = ["–", "0 throttled, 0 s held back", "holds nothing", "none yet"];
    expect(rowsOf(page)).toEqual([
      [
        ...["busy", "limited: unresponsive: its invocations are slow", "300", "12", "4"],
        "2 × InstanceNotFound since 2026-03-01 11:55:00 (5 min), longest ip-10-0-1-17 cloud-node-controller" +
          "5 × BrakePulled since 2026-03-01 11:58:00 (2 min), longest ip-10-0-1-9 cloud-node-lifecycle-controller" +
          "2 × BrakePulled since 2026-03-01 11:59:30 (30 s), longest ip-10-0-1-8 cloud-node-lifecycle-controller",
        ...["3", "one invocation at a time, 0 throttled, 0 s held back"],
        "pulled: holds 7 nodes since 2026-03-01 11:58:00 (2 min)",
        expect.stringMatching(/4 joined, half within 0.5 s, 99 % within 10 s$/),
      ],
      ["lost", "not ready: Invalid: server: Invalid URL", "0", "0", "0", "nothing", ...nothing],
      ["well", "ok", "300", "0", "0", "nothing", ...nothing],
    ]);
    expect(all(page, "h1").map(({ text }) => text)).toEqual(["2 of 3 clusters ready"]);
    expect(all(page, "p")[0]?.text).toContain("12 objects need work");
  });

  test("shows each bucket of a histogram as a bar that says what it is", async () => {
    const metrics = createRelayMetrics();
    joined(metrics, "a", 0.01, 0.3, 0.3, 2_000);
    const bars = all(await pageOf([clusterOf("a")], metrics), "rect").map(
      ({ text, attributes }) => `${text} ${attributes["height"]}`,
    );
    expect(bars).toEqual(["within 0.05 s: 1 12", "within 0.5 s: 2 24", "after 1024 s: 1 12"]);
  });

  test("adds up what workers have counted of a cluster", async () => {
    const workers = [createRelayMetrics(), createRelayMetrics()];
    for (const worker of workers) joined(worker, "a", 0.3);
    const own = createRelayMetrics();
    const metrics = await mergeValues(
      [await own.values()],
      await Promise.all(workers.map((each) => each.values())),
    );
    const page = parsePage(
      renderPage({ clusters: [clusterOf("a")], platform: undefined, metrics, nowMs: NOW_MS }),
    );
    expect(all(page, "svg")[0]?.text).toContain("2 joined, half within 0.5 s");
  });

  test.each([
    ["<script>alert(1)</script>"],
    ["</td></tr></table></main><main id='x'>"],
    ["a-Z_0.9:/;(b) %×+"],
    ['" onmouseover="alert(1)'],
    ["<img src=x onerror=alert(1)>"],
    ["&lt;b&gt;&#60;i&#62;"],
    ["<!--"],
    ["]]></style></title><svg onload=alert(1)>"],
    ["`'$&"],
  ])("takes the name %j for text, wherever it stands", async (name) => {
    const make = async (text: string) =>
      pageOf([
        clusterOf(text, {
          ready: false,
          failure: { code: text, message: text },
          controllers: [
            controllerOf(
              "cloud-node-controller",
              [text, 1, NOW_MS - 1_000, text],
              ["BrakePulled", 1, 0, text],
            ),
          ],
        }),
      ]);
    const page = await make(name);
    const plain = await make("plain");
    const shape = (each: typeof page) =>
      each.within.map(({ tag, attributes }) => [tag, Object.keys(attributes)]);
    expect(shape(page)).toEqual(shape(plain));
    const texts = new Set(page.within.map(({ text }) => text));
    expect(texts).toContain(name.replaceAll(/\s+/g, " ").trim());
    expect(all(page, "tr")[1]?.text).toBe(all(plain, "tr")[1]?.text.replaceAll("plain", () => name.trim()));
  });

  test("shows what would act on a reader, and times that are none", async () => {
    const page = await pageOf([
      clusterOf("a\u202E\u001B[2J\u0000", {
        controllers: [controllerOf("cloud-node-controller", ["A", 1, -1e18, "n".repeat(5_000)])],
      }),
    ]);
    const [cells = []] = rowsOf(page);
    expect(cells[0]).toBe("a\\u{202E}\\u{001B}[2J\\u{0000}");
    expect(cells[5]).toMatch(/^1 × A since \(\d+ d\), longest n{255}… cloud-node-controller$/);
  });

  test("is bounded, however many clusters there are and whatever they say", async () => {
    const waiting = Array.from(
      { length: 500 },
      (_, index) => ["<".repeat(9_999), 1, index, "&".repeat(9_999)] as const,
    );
    const controllers = [controllerOf("cloud-node-controller", ...waiting)];
    const clusters = Array.from({ length: 1_002 }, (_, index) =>
      clusterOf(`c${index}`, index === 7 ? { controllers } : {}),
    );
    const page = await pageOf(clusters);
    expect(rowsOf(page)).toHaveLength(1_000);
    expect(rowsOf(page)[0]?.[5]).toMatch(/and 490 more reasons$/);
    expect(all(page, "p").map(({ text }) => text)).toContain("and 2 more: all clusters");
    const html = renderPage({ clusters, platform: undefined, metrics: [], nowMs: NOW_MS });
    expect(html.length).toBeLessThan(1_000_000);
  });

  test("asks nobody else for anything, and works where no script runs", async () => {
    const page = await pageOf([clusterOf("a")]);
    const references = page.within
      .flatMap(({ attributes: { src, href } }) => [src, href])
      .filter((each) => each !== undefined);
    expect(references.filter((each) => !each.startsWith("/"))).toEqual([]);
    expect(all(page, "meta").map(({ attributes }) => attributes["content"])).toContain("10");
    expect(
      page.within
        .flatMap(({ attributes }) => Object.keys(attributes))
        .filter((each) => /^on|^style$/.test(each)),
    ).toEqual([]);
  });
});

describe("GET /", () => {
  test("is a page that a browser gives no rights", async () => {
    const metrics = createRelayMetrics();
    const relay = { status: () => [clusterOf("a")] };
    const server = await startRelayServer({
      relay,
      metrics,
      values: metrics.values,
      bindAddress: "127.0.0.1",
      port: 0,
    });
    const answer = await fetch(server.url);
    const text = await answer.text();
    await server.close();
    expect(all(parsePage(text), "main")).toHaveLength(1);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": CONTENT_SECURITY_POLICY,
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
    });
    expect(CONTENT_SECURITY_POLICY).not.toContain("unsafe");
  });

  test("is made once for all who ask within five seconds, and again after a failure", async () => {
    let made = 0;
    let fails = false;
    const clock = createManualClock();
    const page = createPage({
      status: () => [],
      values: async () => {
        made += 1;
        if (fails) throw new Error("no");
        return [];
      },
      platform: () => ({ reachable: false, message: "Denied: <b>" }),
      clock,
    });
    const [first, second] = await Promise.all([page(), page()]);
    expect([first === second, made]).toEqual([true, 1]);
    expect(parsePage(first).text).toContain("functions: cannot be reached: Denied: <b>");
    await clock.advance(5_000);
    fails = true;
    await expect(page()).rejects.toThrow("no");
    fails = false;
    await page();
    expect(made).toBe(3);
  });
});
