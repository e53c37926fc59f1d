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
  WELL_SCRAPES,
} from "#test/infra/monitoring/record-series.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const run = promisify(execFile);
const DASHBOARD = new URL("../../../infra/monitoring/dashboard.json", import.meta.url);
const RULES = new URL("../../../infra/monitoring/alerts.yaml", import.meta.url);

interface Rule {
  readonly alert: string;
  readonly labels: Readonly<Record<string, string>>;
}

const rules: readonly Rule[] = parse(await readFile(RULES, "utf8")).groups.flatMap(
  (group: { rules: Rule[] }) => group.rules,
);

test("every alert has a fault that it fires of", () => {
  const fired = new Set(MONITORED_FAULTS.flatMap(({ fires }) => fires.map(([alert]) => alert)));
  expect([...fired].sort()).toEqual(rules.map(({ alert }) => alert).sort());
});

describeWithPart("promtool", "alerts on the series recorded from a relay", (promtool) => {
  const endSeconds = (WELL_SCRAPES + FAULT_SCRAPES - 1) * SCRAPE_SECONDS;
  const sample = ([alert, labels]: (typeof MONITORED_FAULTS)[number]["fires"][number]) => {
    const severity = rules.find((rule) => rule.alert === alert)?.labels["severity"] ?? "";
    const all = { alertname: alert, alertstate: "firing", severity, ...labels };
    const words = Object.entries(all).map(([name, value]) => `${name}="${value}"`);
    return { labels: `ALERTS{${words.join(",")}}`, value: 1 };
  };

  test.each(MONITORED_FAULTS)("$title", async ({ happens, limits, fires }) => {
    const firing = (atSeconds: number, expected: typeof fires) => ({
      expr: 'max_over_time(ALERTS{alertstate="firing"}[65m])',
      eval_time: `${atSeconds}s`,
      exp_samples: expected
        .map(sample)
        .map(({ labels, value }) => ({ labels: labels.slice("ALERTS".length), value })),
    });
    const folder = await mkdtemp(join(tmpdir(), "alerts-"));
    const file = join(folder, "test.yaml");
    const content = {
      rule_files: [RULES.pathname],
      evaluation_interval: `${SCRAPE_SECONDS}s`,
      tests: [
        {
          interval: `${SCRAPE_SECONDS}s`,
          input_series: await recordSeries(happens, limits),
          promql_expr_test: [firing((WELL_SCRAPES - 1) * SCRAPE_SECONDS, []), firing(endSeconds, fires)],
        },
      ],
    };
    await writeFile(file, stringify(content));
    const verdict = await run(promtool, ["test", "rules", file]).then(
      () => "as expected",
      ({ stdout, stderr }: { readonly stdout: string; readonly stderr: string }) => stdout + stderr,
    );
    await rm(folder, { recursive: true });
    expect(verdict).toBe("as expected");
  });
});

describeWithPart("promtool", "the dashboard", (promtool) => {
  test("asks what Prometheus understands, of any clusters that are chosen", async () => {
    const panels: readonly { readonly targets: readonly { readonly expr: string }[] }[] = JSON.parse(
      await readFile(DASHBOARD, "utf8"),
    ).panels;
    const exprs = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
    const filled = exprs.map((expr) =>
      expr.replaceAll("$__rate_interval", "1m").replaceAll("$cluster", "one|two"),
    );
    const folder = await mkdtemp(join(tmpdir(), "dashboard-"));
    const file = join(folder, "rules.yaml");
    await writeFile(
      file,
      stringify({
        groups: [
          { name: "dashboard", rules: filled.map((expr, index) => ({ record: `panel_${index}`, expr })) },
        ],
      }),
    );
    const { stdout } = await run(promtool, ["check", "rules", file]).catch((error) => error);
    await rm(folder, { recursive: true });
    expect(stdout).toContain(`SUCCESS: ${exprs.length} rules found`);
  });
});
