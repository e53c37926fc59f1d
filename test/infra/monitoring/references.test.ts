import { execFile } from "node:child_process";
import { access, readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { withMetric } from "#functions/parts/sweep-function.ts";
import { LOG_EVENTS } from "#test/log-line.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const run = promisify(execFile);
const root = new URL("../../../", import.meta.url);
const read = (path: string): Promise<string> => readFile(new URL(path, root), "utf8");

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: { readonly runbook: string; readonly runbook_url: string };
}

const rules: readonly Rule[] = parse(await read("infra/monitoring/alerts.yaml")).groups.flatMap(
  (group: { readonly rules: readonly Rule[] }) => group.rules,
);
const reference = await read("docs/reference/metrics.md");
const dashboard = JSON.parse(await read("infra/monitoring/dashboard.json"));
// CloudFormation's short forms of functions; only their arguments are read.
const ofText = ["!Sub", "!Ref"].map((tag) => ({ tag, resolve: (text: string) => text }));
const ofList = ["!If", "!Not", "!Equals"].map((tag) => ({
  tag,
  collection: "seq" as const,
  resolve: (items: unknown) => items,
}));
const template = parse(await read("infra/monitoring/cloudwatch-alarms.yaml"), {
  customTags: [...ofText, ...ofList],
});

const kebab = (name: string): string => name.replace(/(?<!^)(?=[A-Z])/g, "-").toLowerCase();

/** The metrics in the reference; a histogram has series with three names. */
const known = new Set(
  [...reference.matchAll(/^\| `(\w+)` \| (\w+) \|/gm)].flatMap(([, name = "", type]) =>
    type === "histogram" ? ["bucket", "sum", "count"].map((each) => `${name}_${each}`) : [name],
  ),
);
const METRIC = /\b(?:serverless_ccm|node_controller|nodejs|process)_\w+/g;

const alarms = Object.entries<Record<string, unknown>>(template.Resources).map(([name, { Properties }]) => ({
  name,
  properties: Properties as Readonly<Record<string, string>>,
}));

test.each([
  ["the alerts", rules.map(({ expr }) => expr)],
  [
    "the dashboard",
    [
      ...dashboard.panels.flatMap((panel: { targets: { expr: string }[] }) =>
        panel.targets.map(({ expr }) => expr),
      ),
      ...dashboard.templating.list.map(({ query }: { query: string }) => query),
    ],
  ],
])("%s use only metrics in the reference", (_, exprs: readonly string[]) => {
  const asked = exprs.flatMap((expr) => expr.match(METRIC) ?? []);
  expect(asked.length).toBeGreaterThan(10);
  expect(asked.filter((name) => !known.has(name))).toEqual([]);
});

describe("runbooks", async () => {
  /** The alarms that are deployed with the functions. */
  const ofQueues = [...(await read("serverless.yml")).matchAll(/^ +AlarmName: \S+\}-([a-z-]+)$/gm)].map(
    ([, name = ""]) => name,
  );
  const pages = (await readdir(new URL("docs/runbooks", root))).sort();

  test("exist for exactly the alerts and alarms", () => {
    const named = [...rules.map(({ alert }) => alert), ...alarms.map(({ name }) => name)]
      .map(kebab)
      .concat(ofQueues);
    expect(ofQueues).toEqual(["failures", "dead-letters"]);
    expect(pages).toEqual([...new Set(named)].sort().map((name) => `${name}.md`));
  });

  test("are named by their alerts and alarms", () => {
    expect(rules.map(({ annotations }) => annotations.runbook)).toEqual(
      rules.map(({ alert }) => `docs/runbooks/${kebab(alert)}.md`),
    );
    expect(rules.map(({ annotations }) => annotations.runbook_url)).toEqual(
      rules.map(
        ({ alert }) => `http://serverless-ccm-relay.serverless-ccm.svc:10258/runbooks/${kebab(alert)}`,
      ),
    );
    for (const { name, properties } of alarms)
      expect(properties["AlarmDescription"]).toContain(`docs/runbooks/${kebab(name)}.md`);
  });

  test("the reference lists every alert", () => {
    const rows = [
      ...reference.matchAll(/^\| `(\w+)` \| (?:page|ticket) \| \[(.+)\]\(\.\.\/runbooks\/\2\.md\) \|$/gm),
    ];
    expect(rows.map(([, alert]) => alert)).toEqual(rules.map(({ alert }) => alert));
  });

  test.each(pages)(
    "%s says what it means, what to check and what to do, with existing names",
    async (page) => {
      const text = await read(`docs/runbooks/${page}`);
      expect([...text.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading)).toEqual([
        "What it means",
        "What to look at",
        "What to do",
      ]);
      for (const [, path = ""] of text.matchAll(/\]\(([^)#]+)/g))
        await access(new URL(`docs/runbooks/${path}`, root));
      expect((text.match(METRIC) ?? []).filter((name) => !known.has(name))).toEqual([]);
      const events = [...text.matchAll(/`([A-Z][A-Za-z]+)`(?= in the log)/g)].map(([, event = ""]) => event);
      expect(events.filter((event) => !(event in LOG_EVENTS))).toEqual([]);
    },
  );
});

describeWithPart("aws-tools", "CloudWatch's alarms, by AWS's own schemas,", ({ cfnLint }) => {
  test("are a template without cfn-lint findings", async () => {
    const file = fileURLToPath(new URL("infra/monitoring/cloudwatch-alarms.yaml", root));
    const said = await run(cfnLint.program, [...cfnLint.args, "--template", file]).catch((error) => error);
    expect(said.stdout).toBe("");
  });
});

describe("CloudWatch's alarms", () => {
  /** The metrics that CloudWatch extracts from the log line of a finished sweep. */
  const emitted = (overdue: number, orphans?: number): string[] => {
    const line = withMetric(
      { level: "info", event: "SweepFinished", cluster: "one", overdue, orphans },
      0,
      "serverless-ccm-prod-",
    ) as unknown as {
      _aws: {
        CloudWatchMetrics: { Namespace: string; Dimensions: string[][]; Metrics: { Name: string }[] }[];
      };
    };
    return line._aws.CloudWatchMetrics.flatMap(({ Namespace, Dimensions, Metrics }) =>
      Metrics.flatMap(({ Name }) => Dimensions.map((each) => `${Namespace}/${Name}{${each.join(",")}}`)),
    );
  };
  const nameOf = ({ properties }: (typeof alarms)[number]): string => {
    const { Namespace, MetricName } = properties;
    const dimensions = (properties["Dimensions"] ?? []) as unknown as { readonly Name: string }[];
    return `${Namespace}/${MetricName}{${dimensions.map(({ Name }) => Name).join(",")}}`;
  };

  test.each([0, 3])(
    "use a metric that every sweep emits, with the same dimensions (%i overdue)",
    (overdue) => {
      const ours = alarms.filter(({ properties }) => properties["Namespace"] === "serverless-ccm");
      expect(ours.map(({ name }) => name)).toEqual(["SweepFindsGap", "SweepSilent", "LoadBalancersOrphaned"]);
      const always = ours.filter(({ name }) => name !== "LoadBalancersOrphaned");
      expect(always.map(nameOf).filter((name) => !emitted(overdue).includes(name))).toEqual([]);
    },
  );

  test("read only one deployment, so that other deployments' metrics cannot hide a gap", () => {
    for (const { name, properties } of alarms) {
      const dimensions = (properties["Dimensions"] ?? []) as unknown as { Name: string; Value: string }[];
      const isOwn = properties["Namespace"] === "serverless-ccm";
      expect(dimensions, name).toEqual([
        {
          Name: isOwn ? "functionPrefix" : "FunctionName",
          Value: `\${FunctionPrefix}${isOwn ? "" : "sweep"}`,
        },
      ]);
    }
  });

  test("for orphans use a metric that only a sweep with orphans emits", () => {
    const [orphaned] = alarms.filter(({ name }) => name === "LoadBalancersOrphaned").map(nameOf);
    expect(emitted(0, 2)).toContain(orphaned);
    expect(emitted(0, 0)).not.toContain(orphaned);
  });

  test("name functions as they are deployed", async () => {
    const names = alarms.flatMap(({ properties }) =>
      ((properties["Dimensions"] ?? []) as unknown as { Name: string; Value: string }[]).flatMap(
        ({ Name, Value }) => (Name === "FunctionName" ? [Value] : []),
      ),
    );
    // biome-ignore lint/suspicious/noTemplateCurlyInString: CloudFormation fills it
    expect(names).toEqual(["${FunctionPrefix}sweep"]);
    expect(await read("serverless.yml")).toMatch(/^ {4}name: \$\{self:service\}-\$\{sls:stage\}-sweep$/m);
  });
});
