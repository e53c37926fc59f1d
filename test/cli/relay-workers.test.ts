import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { ClusterEntry } from "#config/cluster.ts";
import { Event } from "#core/event.ts";
import { type EmbeddedControlPlane, startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { buildClusterEntry, writeClustersFile } from "#emulators/harness/clusters-file.ts";
import { connect } from "#kube/client/connect.ts";
import { getConnectOptions } from "#test/access.ts";
import { getBuiltCommandLine } from "#test/build/shared-build.ts";
import { type Running, runProgram, startProgram } from "#test/cli/program.ts";
import { registerNode } from "#test/cli/register-node.ts";
import { buildReport } from "#test/relay/report-builders.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

const NAMES = ["blue", "green", "red"] as const;

let folder: string;
let file: string;
let planes: readonly EmbeddedControlPlane[];
let lambda: Server;
let program: Running | undefined;
let built: string;
/** The objects of all events, by cluster. */
let invoked: Map<string, string[]>;
/** Answers that the functions have not given yet, if they are held. */
let held: (() => void)[] | undefined;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "relay-workers-"));
  file = join(folder, "clusters.yaml");
  built = await getBuiltCommandLine();
  planes = await Promise.all(NAMES.map((name) => startEmbeddedControlPlane({ folder: join(folder, name) })));
  for (const [index, plane] of planes.entries()) await registerNode(plane, `node-of-${NAMES[index]}`);
  lambda = createServer(async (request, response) => {
    if (request.headers["x-amz-invocation-type"] === "DryRun") return void response.writeHead(204).end();
    const event = Event.parse(JSON.parse(await text(request)));
    const names = event.objects.map((object) => (object as { metadata: { name: string } }).metadata.name);
    invoked.set(event.cluster, [...(invoked.get(event.cluster) ?? []), ...names]);
    if (held !== undefined) await new Promise<void>((resolve) => held?.push(resolve));
    response.end(JSON.stringify(buildReport(event, () => ({ outcome: "unchanged" }))));
  });
  await new Promise<void>((resolve) => lambda.listen(0, "127.0.0.1", resolve));
});
afterAll(async () => {
  lambda.closeAllConnections();
  await new Promise((resolve) => lambda.close(resolve));
  for (const plane of planes) await plane.close();
  await rm(folder, { recursive: true });
});
beforeEach(() => {
  invoked = new Map();
  held = undefined;
});
afterEach(async () => {
  await program?.end("SIGKILL");
  program = undefined;
});

const entry = (name: (typeof NAMES)[number], difference: Partial<ClusterEntry> = {}): ClusterEntry => {
  const plane = planes[NAMES.indexOf(name)];
  if (plane === undefined) throw new Error(`no control plane of ${name}`);
  return buildClusterEntry(plane, {
    name,
    cloud: { provider: "memory", instancesFile: "none.json" },
    controllers: ["cloud-node-controller"],
    ...difference,
  });
};

/** Creates the Lease of the manifest in infra/state. */
async function plant(name: (typeof NAMES)[number]): Promise<void> {
  const plane = planes[NAMES.indexOf(name)];
  if (plane === undefined) throw new Error(`no control plane of ${name}`);
  const admin = connect(await getConnectOptions(plane, "admin"));
  const answer = await admin.send({
    method: "POST",
    path: "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases",
    body: {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name: "serverless-ccm-relay" },
      spec: { holderIdentity: "serverless-ccm-relay", leaseDurationSeconds: 120 },
    },
  });
  expect(answer.status).toBe(201);
  await admin.close();
}

/** Starts the published build. */
function start(...flags: readonly string[]): Running {
  const { port } = lambda.address() as AddressInfo;
  program = startProgram(
    ["relay", `--clusters-file=${file}`, "--function-prefix=x-", "--port=0", ...flags],
    {
      AWS_REGION: "us-east-1",
      AWS_ACCESS_KEY_ID: "x",
      AWS_SECRET_ACCESS_KEY: "x",
      AWS_ENDPOINT_URL_LAMBDA: `http://127.0.0.1:${port}`,
    },
    join(built, "serverless-ccm.mjs"),
  );
  return program;
}

async function page(path: string): Promise<[number, string]> {
  const { url } = (await program?.line("Serving")) ?? {};
  const answer = await fetch(`${url}${path}`);
  return [answer.status, await answer.text()];
}

const ready = (name: string): Promise<void> =>
  waitUntilTrue(`${name} to be ready`, async () => (await page(`/readyz/clusters/${name}`))[0] === 200);

async function valueIn(series: string): Promise<number | undefined> {
  const [, metrics] = await page("/metrics");
  const line = metrics.split("\n").find((each) => each.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length));
}

/** Returns the number of worker threads, from the relay's own metrics. */
async function threads(): Promise<number | undefined> {
  return valueIn("serverless_ccm_workers");
}

describe("the published relay with several clusters", () => {
  test.each(["--workers=1", "--workers=0"])(
    "starts with a held entry, reports it, and sends nothing for it (%s)",
    async (workers) => {
      const cloud = { provider: "aws", region: "eu-central-1", clusterTag: "prod" } as const;
      await writeClustersFile(file, entry("blue", { cloud }), entry("green", { cloud }), entry("red"));
      start(workers);
      await Promise.all([ready("blue"), ready("red")]);
      await waitUntilTrue("events of the others", () => invoked.has("blue") && invoked.has("red"));
      const [status, said] = await page("/readyz/clusters/green");
      expect([status, said]).toEqual([503, expect.stringContaining("SameOwnership: ")]);
      expect(said).toContain("belongs to cluster blue");
      const labels = '{cluster="green",reason="SameOwnership"}';
      expect(await valueIn(`serverless_ccm_cluster_held${labels}`)).toBe(1);
      expect(invoked.has("green")).toBe(false);
    },
  );

  test("renews, in its workers, the Lease of each cluster that has one", async () => {
    await plant("blue");
    await writeClustersFile(file, entry("blue"), entry("green"));
    const { lines } = start("--workers=2");
    const renewals = (cluster: string, outcome: string): Promise<number | undefined> =>
      valueIn(`serverless_ccm_lease_renewals_total{cluster="${cluster}",outcome="${outcome}"}`);
    await waitUntilTrue(
      "blue's to be renewed",
      async () => ((await renewals("blue", "renewed")) ?? 0) > 0,
      90_000,
    );
    await waitUntilTrue(
      "green's to be missed",
      async () => ((await renewals("green", "missing")) ?? 0) > 0,
      90_000,
    );
    // Lines of workers come in batches.
    const said = (event: string): unknown[] =>
      lines.filter((line) => line["event"] === event).map(({ cluster, outcome }) => [cluster, outcome]);
    await waitUntilTrue(
      "both to be said",
      () => said("LeaseRenewed").length + said("LeaseNotRenewed").length === 2,
    );
    expect([said("LeaseRenewed"), said("LeaseNotRenewed")]).toEqual([
      [["blue", undefined]],
      [["green", "missing"]],
    ]);
    // Readiness does not depend on the renewal.
    await ready("green");
  }, 200_000);

  test("runs them in workers, invokes for each, follows the file, and ends with 0", async () => {
    await writeClustersFile(file, entry("blue"), entry("green"));
    start("--workers=2");
    await Promise.all([ready("blue"), ready("green")]);
    expect(await threads()).toBe(2);
    await waitUntilTrue("an event of each", () => invoked.size === 2);
    expect([...invoked].sort()).toEqual([
      ["blue", ["node-of-blue"]],
      ["green", ["node-of-green"]],
    ]);
    const labels = 'controller="cloud-node-controller",reason="watch",outcome="report"';
    await waitUntilTrue(
      "the report to be counted",
      async () => (await valueIn(`serverless_ccm_invocations_total{cluster="blue",${labels}}`)) === 1,
    );

    await writeClustersFile(file, entry("red"), entry("green"));
    await ready("red");
    await waitUntilTrue("blue to be gone", async () => (await page("/readyz/clusters/blue"))[0] === 404);
    expect(await valueIn('serverless_ccm_cluster_ready{cluster="blue"}')).toBeUndefined();
    expect(await valueIn('serverless_ccm_cluster_ready{cluster="green"}')).toBe(1);
    const events = () => program?.lines.map(({ event, cluster }) => `${event} ${cluster}`) ?? [];
    await waitUntilTrue("the lines of the workers", () =>
      ["ClusterAdded red", "ClusterRemoved blue"].every((line) => events().includes(line)),
    );
    expect(events()).not.toContain("ClusterAdded green");
    expect(await program?.end("SIGTERM")).toBe(0);
  });

  test("lets what is in flight finish before it ends", async () => {
    held = [];
    await writeClustersFile(file, entry("blue"), entry("green"));
    start("--workers=2");
    await waitUntilTrue("events in flight", () => held?.length === 2);
    const ended = program?.end("SIGTERM");
    await program?.line("Draining");
    for (const release of held) release();
    expect(await ended).toBe(0);
    expect(await program?.line("Drained")).toMatchObject({ finished: true });
    const reports = program?.lines.filter(({ event }) => event === "Report");
    expect(reports?.map(({ cluster }) => cluster).sort()).toEqual(["blue", "green"]);
  });

  test("ends at once at the second signal", async () => {
    held = [];
    await writeClustersFile(file, entry("blue"));
    start();
    await waitUntilTrue("an event in flight", () => held?.length === 1);
    const ended = program?.end("SIGTERM");
    await program?.line("Draining");
    program?.child.kill("SIGTERM");
    expect(await ended).toBe(0);
    expect(await program?.line("Drained")).toMatchObject({ finished: false });
    for (const release of held) release();
  });

  test("has no workers if none are requested", async () => {
    await writeClustersFile(file, entry("blue"));
    start("--workers=0");
    await ready("blue");
    expect(await threads()).toBeUndefined();
    expect(await program?.end("SIGTERM")).toBe(0);
  });
});

test("an invalid number of workers is a fault", async () => {
  const { code, stderr } = await runProgram([
    "relay",
    "--clusters-file=x",
    "--function-prefix=x-",
    "--workers=many",
  ]);
  expect([code, stderr]).toEqual([2, expect.stringContaining('--workers: "many" is not a number')]);
});
