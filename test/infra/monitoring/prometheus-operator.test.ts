import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import * as z from "zod";
import { findFreePort } from "#emulators/harness/free-port.ts";
import { createRelayMetrics } from "#relay/report/metrics.ts";
import {
  findManifest,
  getDeployment,
  MANAGEMENT,
  parseManifests,
  readManifests,
} from "#test/infra/management-manifests.ts";
import { recordSeries } from "#test/infra/monitoring/record-series.ts";
import { buildPodTarget } from "#test/infra/monitoring/two-relays.ts";
import { describeWithPart, testWithPart } from "#test/setup/parts.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";
import { ROOT } from "../../../build/bundle.ts";

const run = promisify(execFile);
const base = await readManifests(MANAGEMENT);
const made = await readManifests(join(MANAGEMENT, "prometheus-operator"));

/**
 * The fields of a ServiceMonitor that we use. Any other is a typing mistake, which the operator would drop.
 */
const Relabeling = z.strictObject({
  action: z.enum(["replace", "labeldrop"]),
  sourceLabels: z.array(z.string()).optional(),
  regex: z.string(),
  targetLabel: z.string().optional(),
});
const ServiceMonitor = z.strictObject({
  selector: z.strictObject({ matchLabels: z.record(z.string(), z.string()) }),
  endpoints: z.tuple([
    z.strictObject({
      ...{ port: z.string(), path: z.string(), interval: z.string(), scrapeTimeout: z.string() },
      metricRelabelings: z.array(Relabeling),
    }),
  ]),
});
const monitor = ServiceMonitor.parse(findManifest("ServiceMonitor", made)["spec"]);
const [endpoint] = monitor.endpoints;

/**
 * The labels that the operator gives each target of a ServiceMonitor, and one that is common for all targets
 * of a cluster.
 */
const TARGET_LABELS = ["namespace", "service", "pod", "container", "endpoint", "job", "instance", "node"];

describe("the manifests for the Prometheus Operator", () => {
  test("find the relays' Service and its port", () => {
    const service = findManifest("Service", base);
    expect(service.metadata).toMatchObject({ labels: monitor.selector.matchLabels });
    expect(service["spec"]).toMatchObject({ ports: [{ name: endpoint.port }] });
    const [{ ports }] = getDeployment(base).template.spec.containers;
    expect(ports.map(({ name }) => name)).toEqual([endpoint.port]);
  });

  test("have exactly the alerts of infra/monitoring", async () => {
    const { groups } = parse(await readFile(join(ROOT, "infra/monitoring/alerts.yaml"), "utf8"));
    expect(findManifest("PrometheusRule", made)["spec"]).toEqual({ groups });
  });

  test("override no label of ours except the cluster's", () => {
    const ours = new Set(createRelayMetrics().definitions.flatMap(({ labelNames }) => labelNames));
    expect(ours).toContain("cluster");
    expect(TARGET_LABELS.filter((label) => ours.has(label))).toEqual([]);
  });
});

testWithPart("kubectl")("kubectl adds them to the relay's own manifests", async () => {
  const folder = await mkdtemp(join(tmpdir(), "overlay-"));
  try {
    const overlay = {
      resources: [relative(folder, MANAGEMENT)],
      components: [relative(folder, join(MANAGEMENT, "prometheus-operator"))],
    };
    await writeFile(join(folder, "kustomization.yaml"), stringify(overlay));
    const { stdout } = await run("kubectl", ["kustomize", folder]);
    const kinds = parseManifests(stdout).map(({ kind }) => kind);
    expect(kinds.toSorted()).toEqual([...base, ...made].map(({ kind }) => kind).toSorted());
    expect(kinds).toContain("ServiceMonitor");
  } finally {
    await rm(folder, { recursive: true });
  }
});

interface Prometheus {
  /** Returns the labels of all series in an expression's result. */
  readonly query: (expr: string) => Promise<readonly Readonly<Record<string, string>>[]>;
  readonly close: () => Promise<void>;
}

describeWithPart("prometheus", "a Prometheus whose targets have a label cluster", (program) => {
  let relay: Server;
  let prometheus: Prometheus;
  beforeAll(async () => {
    let scraped = "";
    await recordSeries(
      () => {},
      {},
      (text) => {
        scraped = text;
      },
    );
    relay = createServer((_request, response) => response.end(`${scraped}\n`)).listen(0, "127.0.0.1");
    await once(relay, "listening");
    prometheus = await start(program, (relay.address() as AddressInfo).port);
  });
  afterAll(async () => {
    await prometheus?.close();
    relay?.close();
  });

  const clustersOf = async (job: string): Promise<readonly unknown[]> => {
    const series = await prometheus.query(`serverless_ccm_cluster_ready{job="${job}"}`);
    return series.map(({ cluster, exported_cluster: exported, pod }) => [cluster, exported, pod]);
  };

  test("keeps the tenant's cluster in it with the ServiceMonitor, for each relay", async () => {
    expect(await clustersOf("monitored")).toEqual([
      ["one", undefined, buildPodTarget("a")["pod"]],
      ["one", undefined, buildPodTarget("b")["pod"]],
    ]);
  });

  test("would have the management cluster in it without the ServiceMonitor", async () => {
    expect(await clustersOf("plain")).toEqual([["management", "one", buildPodTarget("a")["pod"]]]);
  });

  test("keeps its own on metrics of the process", async () => {
    const series = await prometheus.query('serverless_ccm_build_info{job="monitored"}');
    expect(series.map(({ cluster }) => cluster)).toEqual(["management", "management"]);
  });
});

/** Starts a Prometheus that scrapes one address as two pods by the ServiceMonitor, and as one without it. */
async function start(program: string, relayPort: number): Promise<Prometheus> {
  const folder = await mkdtemp(join(tmpdir(), "prometheus-"));
  const target = (letter: string) => ({
    targets: [`127.0.0.1:${relayPort}`],
    labels: { ...buildPodTarget(letter), cluster: "management", job: "monitored" },
  });
  const relabelings = endpoint.metricRelabelings.map(({ sourceLabels, targetLabel, ...each }) => ({
    ...each,
    ...(sourceLabels === undefined ? {} : { source_labels: sourceLabels }),
    ...(targetLabel === undefined ? {} : { target_label: targetLabel }),
  }));
  const plain = target("a");
  const config = {
    global: { scrape_interval: "1s", scrape_timeout: "1s" },
    scrape_configs: [
      {
        job_name: "monitored",
        metrics_path: endpoint.path,
        static_configs: [target("a"), target("b")],
        metric_relabel_configs: relabelings,
      },
      { job_name: "plain", static_configs: [{ ...plain, labels: { ...plain.labels, job: "plain" } }] },
    ],
  };
  await writeFile(join(folder, "prometheus.yml"), stringify(config));
  const address = `127.0.0.1:${await findFreePort()}`;
  const flags = [`--config.file=${folder}/prometheus.yml`, `--storage.tsdb.path=${folder}/data`];
  const child = spawn(program, [...flags, `--web.listen-address=${address}`], { stdio: "ignore" });
  const ended = once(child, "exit");
  const query: Prometheus["query"] = async (expr) => {
    const answer = await fetch(`http://${address}/api/v1/query?query=${encodeURIComponent(expr)}`);
    return Answer.parse(await answer.json()).data.result.map(({ metric }) => metric);
  };
  await waitUntilTrue("all targets to be scraped", () =>
    query("serverless_ccm_cluster_ready").then(
      (series) => series.length === 3,
      () => false,
    ),
  );
  return {
    query,
    async close() {
      child.kill("SIGTERM");
      await ended;
      await rm(folder, { recursive: true });
    },
  };
}

const Answer = z.object({
  data: z.object({ result: z.array(z.object({ metric: z.record(z.string(), z.string()) })) }),
});
