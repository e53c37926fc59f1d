import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { INSTANCE_ANNOTATION, INSTANCE_TYPE_LABELS, REGION_LABELS, ZONE_LABELS } from "#core/contracts.ts";
import type { Node } from "#core/node/node.ts";
import { buildIdentityFlags } from "#emulators/harness/identity-flags.ts";
import { type NodeHistory, recordNodeHistory } from "#emulators/harness/node-history.ts";
import { type Running, startProgram } from "#test/cli/program.ts";
import { type Deletion, playServices, type ServiceLife } from "#test/e2e/clouds/play-services.ts";
import type { StagedCloud, StagedInstance } from "#test/e2e/clouds/staged-cloud.ts";
import { waitUntil } from "#test/e2e/stage.ts";
import type { ClusterUnderTest } from "#test/kube/apply/cluster-under-test.ts";

/** The result of one cloud's nodes and Services. */
export interface CloudResult {
  /** Nodes that came up, and how many of them were ever without both taint and address. */
  readonly up: number;
  readonly naked: number;
  /** Nodes deleted with their instances, and those deleted without. */
  readonly deleted: number;
  readonly deletedWrongly: number;
  /** Whether the cloud can show that an instance is gone. */
  readonly isToldOfGone: boolean;
  /** Requests to the API until all nodes were up. */
  readonly requests: number;
  /** The lives of Services; or the tests that cover them instead. */
  readonly services: readonly ServiceLife[] | string;
  /** All deviations, in words; empty without any. */
  readonly problems: readonly string[];
}

/**
 * The plan: how many nodes join, and how many of their instances end. The brake allows deleting a fifth of a
 * cluster's nodes at a time.
 */
export interface CloudLife {
  readonly nodes: number;
  readonly gone: number;
  /** A Service of each kind of load balancer for each. */
  readonly deletions: readonly Deletion[];
}

export const WHOLE_LIFE: CloudLife = {
  nodes: 100,
  gone: 20,
  deletions: ["with its address", "on its way"],
};

const TIMEOUT_MS = 180_000;
const LIFECYCLE = "cloud-node-lifecycle-controller";
/** A node is deleted at the second check at the earliest. */
const LOOKS = 4;

/**
 * Runs the life of a cluster's nodes, and of Services, with `run` on an API server; closes neither that nor
 * the cloud.
 */
export async function playCloud(
  cloud: StagedCloud,
  cluster: ClusterUnderTest,
  { nodes, gone: leaving, deletions }: CloudLife,
): Promise<CloudResult> {
  const folder = await mkdtemp(join(tmpdir(), `cloud-${cloud.provider}-`));
  const admin = await cluster.transport("admin");
  await cloud.prepare?.(admin);
  const history = await recordNodeHistory(admin);
  let running: Running | undefined;
  try {
    const started = await startRun(cloud, cluster, folder);
    running = started;
    const instances = Array.from({ length: nodes }, () => cloud.add());
    await Promise.all(
      instances.map(({ name, providerID, kubelet }, index) =>
        // Some kubelets have a configured provider ID, and some do not.
        cluster.join(index % 5 < 3 ? { ...kubelet, name, providerID } : { ...kubelet, name }),
      ),
    );
    await history.until(`${nodes} nodes to come up`, () => history.schedulable === nodes, TIMEOUT_MS);
    const requests = cloud.requests();
    const issues = await problemsOf(instances, cluster, history);
    const records = [...history.records.values()];

    await Promise.all(instances.map(({ name }) => becomes(cluster, name, "True")));
    const gone = instances.slice(0, leaving);
    for (const instance of gone) cloud.remove?.(instance);
    // As Kubernetes's node controller marks a silent kubelet's node.
    await Promise.all(gone.map(({ name }) => becomes(cluster, name, "Unknown")));
    const isGone = new Set(gone.map(({ name }) => name));
    const deleted = () => records.filter((record) => record.deleted && isGone.has(record.name)).length;
    if (cloud.remove === undefined) await lookedAtAgain(started, leaving);
    else await history.until(`${leaving} nodes to go`, () => deleted() === leaving, TIMEOUT_MS);
    const { loadBalancers = [] } = cloud;
    const isPlayed = typeof loadBalancers === "object" && "outline" in loadBalancers;
    const services = isPlayed ? await playServices(loadBalancers, admin, deletions) : loadBalancers;

    const code = await started.end("SIGTERM");
    if (code !== 0) issues.push(`run ended with ${code}`);
    if (history.hole !== undefined) issues.push(history.hole);
    const said = JSON.stringify([started.lines, await cluster.plane.record(), records]);
    if (cloud.secrets?.some((secret) => said.includes(secret)))
      issues.push("a secret of the cloud was revealed");
    return {
      up: history.schedulable,
      naked: records.filter((record) => record.naked).length,
      deleted: deleted(),
      deletedWrongly: records.filter((record) => record.deleted && !isGone.has(record.name)).length,
      isToldOfGone: cloud.remove !== undefined,
      requests,
      services,
      problems: issues,
    };
  } finally {
    running?.child.kill("SIGKILL");
    await history.close();
    await rm(folder, { recursive: true });
  }
}

async function startRun(cloud: StagedCloud, cluster: ClusterUnderTest, folder: string): Promise<Running> {
  const file = join(folder, "cloud.yaml");
  await writeFile(file, JSON.stringify(cloud.config));
  const controllers = typeof cloud.loadBalancers === "object" ? "*,service-lb-controller" : "*";
  const running = startProgram(
    [
      "run",
      ...["--cloud-provider", cloud.provider, "--cloud-config", file],
      ...(await buildIdentityFlags(cluster.plane)),
      ...["--port", "0", "--controllers", controllers],
      // Its default interval would be half a minute.
      ...["--node-deletion-grace", "1s", "--node-monitor-period", "1s"],
    ],
    cloud.environment,
  );
  await running.line("Listed");
  return running;
}

/** Resolves once each silent kubelet's node has been checked often enough for its deletion. */
async function lookedAtAgain({ lines }: Running, silent: number): Promise<void> {
  const looks = (): number => {
    const reports = lines.filter(({ event, controller }) => event === "Report" && controller === LIFECYCLE);
    return reports.reduce((sum, { objects }) => sum + Number(objects), 0);
  };
  const before = looks();
  await waitUntil("silent nodes to be checked", async () => looks() >= before + LOOKS * silent, TIMEOUT_MS);
}

async function becomes(cluster: ClusterUnderTest, name: string, status: "True" | "Unknown"): Promise<void> {
  const lastTransitionTime = `${new Date().toISOString().slice(0, 19)}Z`;
  const value = [{ type: "Ready", status, lastTransitionTime }];
  await cluster.patch(`${name}/status`, [{ op: "add", path: "/status/conditions", value }]);
}

/** Returns the differences between the nodes and their instances. */
async function problemsOf(
  instances: readonly StagedInstance[],
  cluster: ClusterUnderTest,
  history: NodeHistory,
): Promise<string[]> {
  const nodes = await Promise.all(instances.map(({ name }) => cluster.read(name)));
  const issues = nodes.flatMap((node, index) => differencesOf(node, instances[index] as StagedInstance));
  for (const { name, written } of history.records.values())
    for (const [what, values] of Object.entries(written))
      if (values.size > 1) issues.push(`${name}: ${what} was written twice: ${[...values].join(", ")}`);
  return issues;
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
  if (instance.origin !== undefined)
    rows.push([INSTANCE_ANNOTATION, metadata.annotations?.[INSTANCE_ANNOTATION], instance.origin]);
  return rows.flatMap(([what, found, expected]) =>
    found === expected ? [] : [`${metadata.name}: ${what} is ${found}, and not ${expected}`],
  );
}
