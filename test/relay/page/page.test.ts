import { readdir, readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { WATCHES } from "#core/controllers.ts";
import type { ControllerStatus } from "#relay/cluster-relay.ts";
import { type ClusterState, createUnfollowedState } from "#relay/cluster-state.ts";
import { createPage, renderPage } from "#relay/page/create-page.ts";
import { CONTENT_SECURITY_POLICY } from "#relay/page/parts.ts";
import { createRelayMetrics, type RelayMetrics } from "#relay/report/metrics.ts";
import { startRelayServer } from "#relay/server.ts";
import { mergeValues } from "#relay/workers/metrics.ts";
import { createManualClock } from "#test/kube/follow/manual-clock.ts";
import { findAll, parsePage } from "#test/relay/page/parsed-page.ts";
import { ROOT } from "../../../build/bundle.ts";

const RUNBOOKS = (await readdir(`${ROOT}docs/runbooks`)).map((file) => file.replace(".md", ""));

const NOW_MS = Date.parse("2026-03-01T12:00:00Z");

const clusterOf = (name: string, difference: Partial<ClusterState> = {}): ClusterState => ({
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

async function pageOf(clusters: readonly ClusterState[], metrics = createRelayMetrics()) {
  const values = await metrics.values();
  return parsePage(renderPage({ clusters, platform: undefined, metrics: values, nowMs: NOW_MS }));
}

/** Returns the cells of each cluster, without the histogram's picture. */
const rowsOf = (page: Awaited<ReturnType<typeof pageOf>>): readonly (readonly string[])[] =>
  findAll(page, "tbody").flatMap((body) =>
    findAll(body, "tr").map((row) =>
      row.within.filter(({ tag }) => tag === "th" || tag === "td").map(({ text }) => text),
    ),
  );

function joined(metrics: RelayMetrics, cluster: string, ...seconds: readonly number[]): void {
  const metric = "node_controller_cloud_provider_taint_removal_delay_seconds";
  for (const each of seconds) metrics.observe({ cluster, kind: "delay", metric, seconds: each } as never);
}

describe("the page of all clusters", () => {
  test("shows for each what waits, why, since when, its gap, budget and brake, and how long joining took", async () => {
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
        createUnfollowedState("lost", { code: "Invalid", message: "server: Invalid URL" }),
      ],
      metrics,
    );
    const nothing = ["not counted here", "0 throttled, 0 s held back", "none held back", "none yet"];
    expect(rowsOf(page)).toEqual([
      [
        ...["busy", "limited: unresponsive: its invocations are slow", "300", "12", "4"],
        "2 × InstanceNotFound since 2026-03-01 11:55:00 (5 min), longest ip-10-0-1-17 cloud-node-controller" +
          "5 × BrakePulled since 2026-03-01 11:58:00 (2 min), longest ip-10-0-1-9 cloud-node-lifecycle-controller" +
          "2 × BrakePulled since 2026-03-01 11:59:30 (30 s), longest ip-10-0-1-8 cloud-node-lifecycle-controller",
        ...["3", "one invocation at a time, 0 throttled, 0 s held back"],
        "7 held back since 2026-03-01 11:58:00 (2 min)",
        expect.stringMatching(/4 joined, half within 0.5 s, 99 % within 10 s$/),
      ],
      ["lost", "not ready: Invalid: server: Invalid URL", "0", "0", "0", "nothing", ...nothing],
      ["well", "ok", "300", "0", "0", "nothing", ...nothing],
    ]);
    expect(findAll(page, "h1").map(({ text }) => text)).toEqual(["2 of 3 clusters ready"]);
    expect(findAll(page, "p")[0]?.text).toContain("12 objects need work");
  });

  /** One cluster for each possible state, with its word on the page. */
  const STATES: readonly (readonly [word: string, cluster: ClusterState])[] = [
    ["not ready", clusterOf("a", { ready: false, failure: { code: "NotTrusted", message: "no" } })],
    ["not ready", clusterOf("a", { ready: false })],
    ["not ready", createUnfollowedState("a", { code: "Invalid", message: "server" })],
    [
      "not ready",
      clusterOf("a", { ready: false, failure: { code: "Quarantined", message: "ends workers" } }),
    ],
    ["stopped", clusterOf("a", { stop: "deletes" })],
    ["stopped", clusterOf("a", { stop: "unproven" })],
    ["limited", clusterOf("a", { limited: [{ limit: "objects", message: "too many" }] })],
    ["misconfigured", clusterOf("a", { configurationFault: { code: "SameName", message: "held" } })],
    [
      "waiting",
      clusterOf("a", {
        controllers: [controllerOf("cloud-node-controller", ["Denied", 1, NOW_MS - 300_000, "n"])],
      }),
    ],
    [
      "waiting",
      clusterOf("a", {
        controllers: [
          controllerOf("cloud-node-lifecycle-controller", ["BrakePulled", 7, NOW_MS - 1_800_000, "n"]),
        ],
      }),
    ],
    [
      "ok",
      clusterOf("a", { controllers: [controllerOf("cloud-node-controller", ["Waiting", 1, NOW_MS, "n"])] }),
    ],
    ["ok", clusterOf("a")],
  ];
  const wordOf = (page: Awaited<ReturnType<typeof pageOf>>) =>
    findAll(page, "tr")
      .slice(1)
      .map((row) => row.within.find(({ attributes }) => attributes["class"] === "word")?.text);

  test.each(STATES)(
    "shows %s for a cluster, and gives its row the colour of that word only",
    async (word, cluster) => {
      const page = await pageOf([cluster]);
      expect(wordOf(page)).toEqual([word]);
      const [legend] = findAll(page, "details");
      const colours = findAll(legend ?? page, "dt").flatMap(({ text, attributes }) =>
        text === word ? [attributes["class"]] : [],
      );
      expect(colours).toEqual([findAll(page, "tr")[1]?.attributes["class"]]);
    },
  );

  test("shows everything that is wrong with a cluster, the worst first", async () => {
    const cluster = clusterOf("a", {
      ...{ ready: false, failure: { code: "NotTrusted", message: "no" }, stop: "writes" },
      limited: [
        { limit: "objects", message: "too many" },
        { limit: "pageBytes", message: "too large" },
      ],
      configurationFault: { code: "SameName", message: "held" },
    });
    const [[, state] = []] = rowsOf(await pageOf([cluster]));
    expect(state).toBe(
      "not ready: NotTrusted: no; stopped: writes; limited: objects: too many; pageBytes: too large; misconfigured: SameName: held",
    );
  });

  test("explains each of its columns, and each state once, in one legend", async () => {
    const page = await pageOf([clusterOf("a")]);
    const legends = findAll(page, "details");
    expect(legends).toHaveLength(1);
    const terms = legends.flatMap((each) => findAll(each, "dt").map(({ text }) => text));
    const titles = findAll(page, "th")
      .slice(0, -1)
      .map(({ text }) => text);
    expect(titles).toHaveLength(10);
    expect(terms.toSorted()).toEqual([...new Set(STATES.map(([word]) => word)), ...titles].toSorted());
    // Inside the part that is replaced every ten seconds, it would close.
    expect(findAll(findAll(page, "main")[0] ?? page, "details")).toEqual([]);
  });

  test("shows each bucket of a histogram as a bar with its text", async () => {
    const metrics = createRelayMetrics();
    joined(metrics, "a", 0.01, 0.3, 0.3, 2_000);
    const bars = findAll(await pageOf([clusterOf("a")], metrics), "rect").map(
      ({ text, attributes }) => `${text} ${attributes["height"]}`,
    );
    expect(bars).toEqual(["within 0.05 s: 1 12", "within 0.5 s: 2 24", "after 1024 s: 1 12"]);
  });

  test("sums what workers have counted of a cluster", async () => {
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
    expect(findAll(page, "svg")[0]?.text).toContain("2 joined, half within 0.5 s");
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
  ])("treats the name %j as text everywhere", async (name) => {
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
    expect(findAll(page, "tr")[1]?.text).toBe(
      findAll(plain, "tr")[1]?.text.replaceAll("plain", () => name.trim()),
    );
  });

  test("shows control characters and invalid times safely", async () => {
    const page = await pageOf([
      clusterOf("a\u202E\u001B[2J\u0000", {
        controllers: [controllerOf("cloud-node-controller", ["A", 1, -1e18, "n".repeat(5_000)])],
      }),
    ]);
    const [cells = []] = rowsOf(page);
    expect(cells[0]).toBe("a\\u{202E}\\u{001B}[2J\\u{0000}");
    expect(cells[5]).toMatch(/^1 × A since \(\d+ d\), longest n{255}… cloud-node-controller$/);
  });

  test("is bounded for any number of clusters and any text from them", async () => {
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
    expect(findAll(page, "p").map(({ text }) => text)).toContain("and 2 more: all clusters");
    const html = renderPage({ clusters, platform: undefined, metrics: [], nowMs: NOW_MS });
    expect(html.length).toBeLessThan(1_000_000);
  });

  test("requests nothing from other hosts, and works without scripts", async () => {
    const page = await pageOf([clusterOf("a")]);
    const references = page.within
      .flatMap(({ attributes: { src, href } }) => [src, href])
      .filter((each) => each !== undefined);
    expect(references.filter((each) => !each.startsWith("/"))).toEqual([]);
    expect(findAll(page, "meta").map(({ attributes }) => attributes["content"])).toContain("10");
    expect(
      page.within
        .flatMap(({ attributes }) => Object.keys(attributes))
        .filter((each) => /^on|^style$/.test(each)),
    ).toEqual([]);
  });
});

describe("links of the page", () => {
  const troubled = (code: string) =>
    clusterOf("a", {
      // The page names at most this many of a cluster.
      controllers: WATCHES.slice(0, 10).map(({ name }) =>
        controllerOf(name, [code, 1, NOW_MS - 300_000, "n"]),
      ),
    });
  const hrefs = (page: Awaited<ReturnType<typeof pageOf>>) =>
    findAll(page, "a").map(({ attributes }) => attributes["href"] ?? "");

  async function withServer<T>(use: (url: string) => Promise<T>): Promise<T> {
    const metrics = createRelayMetrics();
    const relay = { status: () => [clusterOf("a")] };
    const server = await startRelayServer({
      ...{ relay, metrics, values: metrics.values, bindAddress: "127.0.0.1", port: 0 },
    });
    return use(server.url).finally(server.close);
  }

  test("lead from each code to a page that the relay serves, and to the code's line in a list", async () => {
    const listed = [
      ...(await readFile(`${ROOT}docs/reference/codes.md`, "utf8")).matchAll(/^\| `(\w+)` \|/gm),
    ];
    const codes = listed.map(([, code = ""]) => code);
    expect(codes.length).toBeGreaterThan(40);
    const clusters = [
      ...codes.map(troubled),
      clusterOf("a", { ready: false, failure: { code: "NotTrusted", message: "no" } }),
      clusterOf("a", { ready: false, failure: { code: "Quarantined", message: "no" } }),
      createUnfollowedState("a", { code: "Invalid", message: "server" }),
      clusterOf("a", { stop: "deletes" }),
      clusterOf("a", { stop: "unproven" }),
      clusterOf("a", { limited: [{ limit: "objects", message: "too many" }] }),
      clusterOf("a", { configurationFault: { code: "SameName", message: "held" } }),
    ];
    const metrics = createRelayMetrics();
    metrics.followSweep(() => new Map([["a", 3]]));
    const pages = await Promise.all(clusters.map((each) => pageOf([each], metrics)));
    const targets = new Set(pages.flatMap(hrefs).filter((href) => href.startsWith("/runbooks/")));
    expect(targets).toContain("/runbooks/nodes-wait");
    expect(targets).toContain("/runbooks/codes#NotReady");
    await withServer(async (url) => {
      const broken: string[] = [];
      for (const href of targets) {
        const { pathname, hash } = new URL(href, url);
        const answer = await fetch(`${url}${pathname}`);
        const page = answer.status === 200 ? parsePage(await answer.text()) : undefined;
        const ids = page?.within.map(({ attributes }) => `#${attributes["id"]}`) ?? [];
        if (page === undefined || (hash !== "" && !ids.includes(hash))) broken.push(href);
      }
      expect(broken).toEqual([]);
    });
  });

  test("have an id each, which keeps the keyboard's focus when the page is updated", async () => {
    const links = findAll(findAll(await pageOf([troubled("Denied")]), "tbody")[0] ?? (await pageOf([])), "a");
    expect(links.length).toBe(10);
    expect(new Set(links.map(({ attributes }) => attributes["id"])).size).toBe(links.length);
  });

  test.each(["\uD800", "../healthz", "__proto__", "constructor", "a b#c?d", "%"])(
    "for the code %j lead to the list of codes",
    async (code) => {
      const cluster = clusterOf("a", {
        controllers: [controllerOf("csr-approver", [code, 1, NOW_MS, "n"])],
      });
      const [href = ""] = hrefs(await pageOf([cluster])).filter((each) => each.includes("runbooks"));
      const { pathname, hash } = new URL(href, "http://relay.test");
      expect([pathname, decodeURIComponent(hash)]).toEqual(["/runbooks/codes", `#${code.toWellFormed()}`]);
    },
  );
});

describe("GET /runbooks/NAME", () => {
  async function get(path: string): Promise<Response> {
    const metrics = createRelayMetrics();
    const relay = { status: () => [] };
    const server = await startRelayServer({
      ...{ relay, metrics, values: metrics.values, bindAddress: "127.0.0.1", port: 0 },
    });
    return fetch(`${server.url}${path}`).finally(server.close);
  }

  test.each([...RUNBOOKS, "codes"])("%s is the complete page of the documentation", async (name) => {
    const answer = await get(`/runbooks/${name}`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-security-policy")).toBe(CONTENT_SECURITY_POLICY);
    const page = parsePage(await answer.text());
    const file = name === "codes" ? "reference/codes.md" : `runbooks/${name}.md`;
    const written = await readFile(`${ROOT}docs/${file}`, "utf8");
    // Returns the words, without the marks and targets of Markdown.
    const words = (text: string) =>
      text
        .replaceAll(/\]\([^)]*\)/g, "")
        .replaceAll(/\(docs\/[^)]*\)/g, "")
        .replaceAll(/\W+/g, "");
    const [main] = findAll(page, "main");
    expect(words(main?.text ?? "")).toBe(words(`All clusters ${written}`));
    const links = findAll(page, "a").map(({ attributes }) => attributes["href"]);
    expect(links.filter((href) => href !== "/" && !/^\/runbooks\/[a-z-]+(#.*)?$/.test(href ?? ""))).toEqual(
      [],
    );
  });

  test.each([
    "",
    "none",
    "..%2Freference%2Fcodes",
    "../reference/metrics",
    "x".repeat(500),
    "__proto__",
    "Codes",
  ])("answers 404 for %j", async (name) => {
    expect((await get(`/runbooks/${name}`)).status).toBe(404);
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
    expect(findAll(parsePage(text), "main")).toHaveLength(1);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": CONTENT_SECURITY_POLICY,
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
    });
    expect(CONTENT_SECURITY_POLICY).not.toContain("unsafe");
  });

  test("is rendered once for all requests within five seconds, and again after a failure", async () => {
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
