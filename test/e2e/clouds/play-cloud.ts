import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { INSTANCE_TYPE_LABELS, REGION_LABELS, ZONE_LABELS } from "#core/contracts.ts";
import type { Node } from "#core/node/node.ts";
import { identityFlags } from "#emulators/harness/identity-flags.ts";
import { type NodeHistory, recordNodeHistory } from "#emulators/harness/node-history.ts";
import type { Transport } from "#kube/client/transport.ts";
import { askForJson } from "#test/ask.ts";
import { type Running, startProgram } from "#test/cli/program.ts";
import { plainService } from "#test/clouds/plain-service.ts";
import type { StagedCloud, StagedInstance } from "#test/e2e/clouds/staged-cloud.ts";
import type { ClusterUnderTest } from "#test/kube/apply/cluster-under-test.ts";

/** What became of the nodes, and of a Service, of one cloud. */
export interface PlayedCloud {
  readonly provider: string;
  /** Nodes that came up, and how many of them were ever without both taint and address. */
  readonly up: number;
  readonly naked: number;
  /** Nodes that went with their instances, and those that went without. */
  readonly deleted: number;
  readonly deletedWrongly: number;
  /** Requests to the API until all nodes were up. */
  readonly requests: number;
  /** Of a cloud without load balancers `none`. */
  readonly service: "none" | "made and gone";
  /** What is not as it should be, in words; empty where all is well. */
  readonly problems: readonly string[];
}

/** How many nodes join, and how many of their instances go; the brake lets a fifth of a cluster's nodes go at a time. */
export interface CloudLife {
  readonly nodes: number;
  readonly gone: number;
}

export const WHOLE_LIFE: CloudLife = { nodes: 100, gone: 20 };

const TIMEOUT_MS = 180_000;

/** Plays the life of a cluster's nodes, and of a Service, with `run` beside an API server; closes neither that nor the cloud. */
export async function playCloud(
  provider: string,
  cloud: StagedCloud,
  cluster: ClusterUnderTest,
  { nodes, gone: leaving }: CloudLife,
): Promise<PlayedCloud> {
  const folder = await mkdtemp(join(tmpdir(), `cloud-${provider}-`));
  const admin = await cluster.transport("admin");
  const history = await recordNodeHistory(admin);
  let running: Running | undefined;
  try {
    running = await startRun(provider, cloud, cluster, folder);
    const instances = Array.from({ length: nodes }, () => cloud.add());
    await Promise.all(
      instances.map(({ name, providerID }, index) =>
        // Some kubelets are told their provider ID, and some are not.
        cluster.join(index % 5 < 3 ? { name, providerID } : { name }),
      ),
    );
    await history.until(`${nodes} nodes to come up`, () => history.schedulable === nodes, TIMEOUT_MS);
    const requests = cloud.requests();
    const problems = await problemsOf(instances, cluster, history);
    const records = [...history.records.values()];
    const naked = records.filter((record) => record.naked).length;

    await Promise.all(instances.map(({ name }) => becomes(cluster, name, "True")));
    const gone = instances.slice(0, leaving);
    for (const instance of gone) cloud.remove(instance);
    // As Kubernetes' own node controller says it of a kubelet that is silent.
    await Promise.all(gone.map(({ name }) => becomes(cluster, name, "Unknown")));
    const isGone = new Set(gone.map(({ name }) => name));
    const deleted = () => records.filter((record) => record.deleted && isGone.has(record.name)).length;
    await history.until(`${leaving} nodes to go`, () => deleted() === leaving, TIMEOUT_MS);
    const service = await playService(cloud, admin);
    const deletedWrongly = records.filter((record) => record.deleted && !isGone.has(record.name)).length;

    const code = await running.end("SIGTERM");
    if (code !== 0) problems.push(`run ended with ${code}`);
    if (history.hole !== undefined) problems.push(history.hole);
    return {
      provider,
      up: history.schedulable,
      naked,
      deleted: deleted(),
      deletedWrongly,
      requests,
      service,
      problems,
    };
  } finally {
    running?.child.kill("SIGKILL");
    await history.close();
    await rm(folder, { recursive: true });
  }
}

async function startRun(
  provider: string,
  cloud: StagedCloud,
  cluster: ClusterUnderTest,
  folder: string,
): Promise<Running> {
  const file = join(folder, "cloud.yaml");
  await writeFile(file, JSON.stringify(cloud.config));
  const controllers = cloud.loadBalancers === undefined ? "*" : "*,service-lb-controller";
  const running = startProgram(
    [
      "run",
      ...["--cloud-provider", provider, "--cloud-config", file],
      ...(await identityFlags(cluster.plane)),
      ...["--port", "0", "--controllers", controllers],
      // Its usual pace would be half a minute.
      ...["--node-deletion-grace", "1s", "--node-monitor-period", "1s"],
    ],
    cloud.environment,
  );
  await running.line("Listed");
  return running;
}

async function becomes(cluster: ClusterUnderTest, name: string, status: "True" | "Unknown"): Promise<void> {
  const lastTransitionTime = `${new Date().toISOString().slice(0, 19)}Z`;
  const value = [{ type: "Ready", status, lastTransitionTime }];
  await cluster.patch(`${name}/status`, [{ op: "add", path: "/status/conditions", value }]);
}

/** What of the nodes is not as their instances are. */
async function problemsOf(
  instances: readonly StagedInstance[],
  cluster: ClusterUnderTest,
  history: NodeHistory,
): Promise<string[]> {
  const nodes = await Promise.all(instances.map(({ name }) => cluster.read(name)));
  const problems = nodes.flatMap((node, index) => differencesOf(node, instances[index] as StagedInstance));
  for (const { name, written } of history.records.values())
    for (const [what, values] of Object.entries(written))
      if (values.size > 1) problems.push(`${name}: ${what} was written twice: ${[...values].join(", ")}`);
  return problems;
}

const LABELS = [
  [INSTANCE_TYPE_LABELS, "type"],
  [ZONE_LABELS, "zone"],
  [REGION_LABELS, "region"],
] as const;

function differencesOf({ metadata, spec, status }: Node, instance: StagedInstance): string[] {
  const addresses = (status.addresses ?? []).map(({ type, address }) => `${type} ${address}`);
  const rows: [string, unknown, unknown][] = [
    ["provider ID", spec.providerID, instance.providerID],
    ["addresses", addresses.toSorted().join(), instance.addresses.toSorted().join()],
    ...LABELS.flatMap(([pair, key]) =>
      Object.values(pair).map((label): [string, unknown, unknown] => [
        label,
        metadata.labels?.[label],
        instance[key],
      ]),
    ),
  ];
  return rows.flatMap(([what, found, expected]) =>
    found === expected ? [] : [`${metadata.name}: ${what} is ${found}, and not ${expected}`],
  );
}

/** A Service gets an address, and takes its load balancer with it when it goes. */
async function playService(
  { loadBalancers }: StagedCloud,
  admin: Transport,
): Promise<PlayedCloud["service"]> {
  if (loadBalancers === undefined) return "none";
  const services = "/api/v1/namespaces/default/services";
  const before = loadBalancers.count();
  await askForJson(admin, { method: "POST", path: services, body: plainService({}) });
  await until("an address of the Service", async () => {
    loadBalancers.advance();
    const { status } = (await askForJson(admin, { method: "GET", path: `${services}/web` })) as Shown;
    return (status?.loadBalancer?.ingress?.length ?? 0) > 0;
  });
  await askForJson(admin, { method: "DELETE", path: `${services}/web` });
  await until("the Service to go", async () => {
    loadBalancers.advance();
    const { status } = await admin.send({ method: "GET", path: `${services}/web` });
    return status === 404 && loadBalancers.count() === before;
  });
  return "made and gone";
}

interface Shown {
  readonly status?: { readonly loadBalancer?: { readonly ingress?: readonly unknown[] } };
}

async function until(what: string, done: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + TIMEOUT_MS;
  while (!(await done())) {
    if (performance.now() > deadline) throw new Error(`waited ${TIMEOUT_MS / 1000} s for ${what}`);
    await sleep(100);
  }
}
