import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { MONITORED_FAULTS } from "#test/infra/monitoring/faults.ts";
import {
  FAULT_SCRAPES,
  recordSeries,
  SCRAPE_SECONDS,
  type Series,
  WELL_SCRAPES,
} from "#test/infra/monitoring/record-series.ts";
import { buildPodTarget, DEPLOYMENT, mergeScrapes } from "#test/infra/monitoring/two-relays.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const run = promisify(execFile);
const DASHBOARD = new URL("../../../infra/monitoring/dashboard.json", import.meta.url);
const RULES = new URL("../../../infra/monitoring/alerts.yaml", import.meta.url);

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
}

type Alert = (typeof MONITORED_FAULTS)[number]["fires"][number];

const rules: readonly Rule[] = parse(await readFile(RULES, "utf8")).groups.flatMap(
  (group: { rules: Rule[] }) => group.rules,
);

/**
 * Faults of only one of the two relays, and its alerts that still fire; the other relay does the work
 * meanwhile.
 */
const FAULTS_OF_ONE: readonly (readonly [title: string, fires: readonly Alert[]])[] = [
  ["a relay that is gone", []],
  ["an API server that refuses connections", [["ClusterNotRedundant", { cluster: "one" }]]],
  ["a Lease that the relay may not renew", []],
  ["a right to invoke that was taken away", [["PlatformUnreachable", DEPLOYMENT]]],
  ["clusters that cannot be read", [["ClustersUnreadable", DEPLOYMENT]]],
  ["a relay whose thread is kept busy", [["RelayLags", buildPodTarget("a")]]],
  ["more nodes than the cluster may have", [["ClusterLimited", { cluster: "one", limit: "objects" }]]],
];

test("every alert has a fault that makes it fire", () => {
  const fires = [...MONITORED_FAULTS.map((fault) => fault.fires), ...FAULTS_OF_ONE.map(([, each]) => each)];
  const fired = new Set(fires.flat().map(([alert]) => alert));
  expect([...fired].sort()).toEqual(rules.map(({ alert }) => alert).sort());
});

interface Panel {
  readonly title: string;
  readonly targets: readonly { readonly expr: string }[];
}

const panels: readonly Panel[] = JSON.parse(await readFile(DASHBOARD, "utf8")).panels;

/** The expression in Grafana's form. */
function ofClusters(expr: string, chosen: string): string {
  return expr.replaceAll("$__rate_interval", "1m").replaceAll("$cluster", chosen);
}

const recordings = new Map<string, Promise<readonly Series[]>>();

/** Records the scrapes of a relay with this fault, or `nothing`, once. */
function recordFault(title: string, limits?: object): Promise<readonly Series[]> {
  const fault = MONITORED_FAULTS.find((each) => each.title === title);
  if (fault === undefined && title !== "nothing") throw new Error(`no fault ${title}`);
  const key = `${title} ${JSON.stringify(limits)}`;
  const recording =
    recordings.get(key) ?? recordSeries(fault?.happens ?? (() => {}), limits ?? fault?.limits);
  recordings.set(key, recording);
  return recording;
}

const END_SECONDS = (WELL_SCRAPES + FAULT_SCRAPES - 1) * SCRAPE_SECONDS;

/** Runs promtool on these series and returns `as expected`, or the differences. */
async function judge(promtool: string, series: readonly Series[], tests: readonly object[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "alerts-"));
  const file = join(folder, "test.yaml");
  const content = {
    rule_files: [RULES.pathname],
    evaluation_interval: `${SCRAPE_SECONDS}s`,
    tests: [{ interval: `${SCRAPE_SECONDS}s`, input_series: series, promql_expr_test: tests }],
  };
  await writeFile(file, stringify(content));
  const verdict = await run(promtool, ["test", "rules", file]).then(
    () => "as expected",
    ({ stdout, stderr }: { readonly stdout: string; readonly stderr: string }) => stdout + stderr,
  );
  await rm(folder, { recursive: true });
  return verdict;
}

/** Expects exactly these alerts to have fired by then, once each. */
function firing(atSeconds: number, expected: readonly Alert[]): object {
  return {
    expr: 'max_over_time(ALERTS{alertstate="firing"}[65m])',
    eval_time: `${atSeconds}s`,
    exp_samples: expected.map(([alert, labels]) => {
      const severity = rules.find((rule) => rule.alert === alert)?.labels["severity"] ?? "";
      return { labels: wordsOf({ alertname: alert, alertstate: "firing", severity, ...labels }), value: 1 };
    }),
  };
}

function wordsOf(labels: Readonly<Record<string, string>>): string {
  return `{${Object.entries(labels)
    .map(([name, value]) => `${name}="${value}"`)
    .join(",")}}`;
}

describeWithPart("promtool", "alerts on the series recorded from a relay", (promtool) => {
  test.each(MONITORED_FAULTS)("$title", async ({ title, fires }) => {
    const series = await recordFault(title);
    const tests = [firing((WELL_SCRAPES - 1) * SCRAPE_SECONDS, []), firing(END_SECONDS, fires)];
    expect(await judge(promtool, series, tests)).toBe("as expected");
  });
});

describeWithPart("promtool", "alerts on the relays of several deployments", (promtool) => {
  const SCRAPES = WELL_SCRAPES + FAULT_SCRAPES;
  /** Returns the scrapes of a relay, or of two in sequence, up to a certain scrape. */
  const relayOf = (prefix: string | undefined, instance: string, scrapes: number): Series => {
    const label = prefix === undefined ? "" : `,function_prefix="${prefix}"`;
    return {
      series: `serverless_ccm_build_info{version="1",instance="${instance}"${label}}`,
      values: `${"1 ".repeat(scrapes)}stale${" _".repeat(SCRAPES - scrapes - 1)}`,
    };
  };
  const [PROD, CANARY] = ["serverless-ccm-prod-", "serverless-ccm-canary-"];
  const LIVES = SCRAPES - 1;

  test.each<[string, readonly Series[], readonly Alert[]]>([
    ["all are there", [relayOf(PROD, "a", LIVES), relayOf(CANARY, "b", LIVES)], []],
    [
      "one's is gone, and another's is there",
      [relayOf(PROD, "a", WELL_SCRAPES), relayOf(CANARY, "b", LIVES)],
      [["RelayGone", { function_prefix: PROD }]],
    ],
    [
      "all are gone",
      [relayOf(PROD, "a", WELL_SCRAPES), relayOf(CANARY, "b", WELL_SCRAPES)],
      [PROD, CANARY].map((prefix) => ["RelayGone", { function_prefix: prefix }]),
    ],
    ["one of two of a deployment is gone", [relayOf(PROD, "a", WELL_SCRAPES), relayOf(PROD, "b", LIVES)], []],
    [
      "a relay of before, which does not say whose it is, is gone",
      [relayOf(undefined, "a", WELL_SCRAPES), relayOf(PROD, "b", LIVES)],
      [["RelayGone", {}]],
    ],
    ["there never was one", [], [["RelayGone", {}]]],
  ])("fire by deployment if %s", async (_, series, fires) => {
    const tests = [firing((SCRAPES - 3) * SCRAPE_SECONDS, fires)];
    expect(await judge(promtool, series, tests)).toBe("as expected");
  });
});

describeWithPart("promtool", "alerts on the series of two relays of one Deployment", (promtool) => {
  /** Alerts about a process, which keep its target's labels. The others keep the labels of the Deployment. */
  const OF_A_POD = new Set(["ReplicaCutOff", "RelayLags"]);
  const OF_A_DEPLOYMENT = new Set([
    ...["PlatformUnreachable", "FunctionRefused", "PlatformFallback"],
    ...["ClustersNotFollowed", "ClustersUnreadable", "WorkersDie"],
  ]);
  const asScraped = ([alert, labels]: Alert, pods: readonly string[]): readonly Alert[] => {
    if (OF_A_POD.has(alert)) return pods.map((pod) => [alert, { ...labels, ...buildPodTarget(pod) }]);
    return [[alert, OF_A_DEPLOYMENT.has(alert) ? { ...labels, ...DEPLOYMENT } : labels]];
  };

  test.each(MONITORED_FAULTS)(
    "$title fires once, though both report it",
    async ({ happens, limits, fires }) => {
      const series = await recordSeries(happens, limits);
      const expected = fires.flatMap((each) => asScraped(each, ["a", "b"]));
      const tests = [firing((WELL_SCRAPES - 1) * SCRAPE_SECONDS, []), firing(END_SECONDS, expected)];
      expect(await judge(promtool, mergeScrapes(series, series), tests)).toBe("as expected");
    },
  );

  test.each(FAULTS_OF_ONE)("%s, on one of the two", async (title, fires) => {
    const limits = MONITORED_FAULTS.find((each) => each.title === title)?.limits;
    const series = mergeScrapes(await recordFault(title), await recordFault("nothing", limits));
    expect(await judge(promtool, series, [firing(END_SECONDS, fires)])).toBe("as expected");
  });

  /** The values that alerts count. */
  const COUNTED: readonly (readonly [title: string, alert: string, labels: object, value: number])[] = [
    ["nodes without an instance", "NodesWait", { cluster: "one", reason: "InstanceNotFound" }, 1],
    [
      "a Service whose load balancer cannot be made",
      "ServicesWait",
      { cluster: "one", reason: "LimitReached" },
      1,
    ],
    [
      "nodes that are gone and stay for BrakePulled",
      "DeletionHeldBack",
      { cluster: "one", reason: "BrakePulled" },
      1,
    ],
    [
      "nodes that are gone and stay for FleetBrakeEngaged",
      "FleetBrakeEngaged",
      { reason: "FleetBrakeEngaged" },
      1,
    ],
    ["nodes that the relay did not bring", "SweepFindsGap", { cluster: "one" }, 3],
    ["load balancers of a Service that is gone", "LoadBalancersOrphaned", { cluster: "one" }, 1],
  ];
  test.each(COUNTED)("%s: %s counts each once", async (title, alert, labels, value) => {
    const series = await recordFault(title);
    const expr = rules.find((rule) => rule.alert === alert)?.expr;
    const samples = [{ labels: wordsOf({ ...labels }), value }];
    const tests = [{ expr, eval_time: `${END_SECONDS}s`, exp_samples: samples }];
    expect(await judge(promtool, mergeScrapes(series, series), tests)).toBe("as expected");
  });
});

describeWithPart("promtool", "the dashboard", (promtool) => {
  test("has queries that Prometheus understands, for any selected clusters", async () => {
    const folder = await mkdtemp(join(tmpdir(), "dashboard-"));
    const file = join(folder, "rules.yaml");
    const panelRules = panels
      .flatMap(({ targets }) => targets)
      .map(({ expr }, index) => ({ record: `panel_${index}`, expr: ofClusters(expr, "one|two") }));
    await writeFile(file, stringify({ groups: [{ name: "dashboard", rules: panelRules }] }));
    const { stdout } = await run(promtool, ["check", "rules", file]).catch((error) => error);
    await rm(folder, { recursive: true });
    expect(stdout).toContain(`SUCCESS: ${panelRules.length} rules found`);
  });

  const SHOWN: readonly (readonly [panel: string, title: string, labels: object, value: number])[] = [
    ["Clusters that are not ready", "an API server that refuses connections", {}, 1],
    ["Nodes that wait for ten minutes", "nodes without an instance", {}, 1],
    ["Gap", "nodes that the relay did not bring", {}, 3],
    ["Deletions held back by a brake", "nodes that are gone and stay for BrakePulled", {}, 1],
    ["Functions that are refused", "a function that the platform refuses to invoke", {}, 1],
    ["Nodes that wait, by why", "nodes without an instance", { reason: "InstanceNotFound" }, 1],
    [
      "Services without an address, by why",
      "a Service whose load balancer cannot be made",
      { reason: "LimitReached" },
      1,
    ],
  ];
  test.each(SHOWN)(
    "shows each value under %s once, for two relays with %s",
    async (panel, title, labels, value) => {
      const series = await recordFault(title);
      const [expr = ""] = panels
        .filter((each) => each.title === panel)
        .flatMap(({ targets }) => targets.map((each) => ofClusters(each.expr, ".*")));
      const samples = [{ labels: wordsOf({ ...labels }), value }];
      const tests = [{ expr, eval_time: `${END_SECONDS}s`, exp_samples: samples }];
      expect(await judge(promtool, mergeScrapes(series, series), tests)).toBe("as expected");
    },
  );

  test("shows the memory and event loop only of relays", async () => {
    const values = (value: number) => Array.from({ length: 5 }, () => value).join(" ");
    const measured = ["process_resident_memory_bytes", "nodejs_eventloop_lag_p99_seconds"];
    const series = [
      { series: 'serverless_ccm_build_info{job="relay",instance="a"}', values: values(1) },
      ...measured.flatMap((name) => [
        { series: `${name}{job="relay",instance="a"}`, values: values(7) },
        { series: `${name}{job="other",instance="a"}`, values: values(9) },
      ]),
    ];
    const exprs = panels
      .flatMap(({ targets }) => targets.map(({ expr }) => expr))
      .filter((expr) => /^(process|nodejs)_/.test(expr));
    expect(exprs).toHaveLength(measured.length);
    const tests = exprs.map((expr, index) => ({
      ...{ expr, eval_time: `${SCRAPE_SECONDS}s` },
      exp_samples: [{ labels: `${measured[index]}{job="relay",instance="a"}`, value: 7 }],
    }));
    expect(await judge(promtool, series, tests)).toBe("as expected");
  });
});
