import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { INSTANCE_ANNOTATION, INSTANCE_TYPE_LABELS, REGION_LABELS, ZONE_LABELS } from "#core/contracts.ts";
import type { Node } from "#core/node/node.ts";
import { identityFlags } from "#emulators/harness/identity-flags.ts";
import { type NodeHistory, recordNodeHistory } from "#emulators/harness/node-history.ts";
import { type Running, startProgram } from "#test/cli/program.ts";
import { type Deletion, playServices, type ServiceLife } from "#test/e2e/clouds/play-services.ts";
import type { StagedCloud, StagedInstance } from "#test/e2e/clouds/staged-cloud.ts";
import { until } from "#test/e2e/stage.ts";
import type { ClusterUnderTest } from "#test/kube/apply/cluster-under-test.ts";

/** What became of the nodes, and of Services, of one cloud. */
export interface PlayedCloud {
  /** Nodes that came up, and how many of them were ever without both taint and address. */
  readonly up: number;
  readonly naked: number;
  /** Nodes that went with their instances, and those that went without. */
  readonly deleted: number;
  readonly deletedWrongly: number;
  /** Whether anybody can tell that an instance is there no more. */
  readonly isToldOfGone: boolean;
  /** Requests to the API until all nodes were up. */
  readonly requests: number;
  /** How Services came and went; the tests that play them where these do not. */
  readonly services: readonly ServiceLife[] | string;
  /** What is not as it should be, in words; empty where all is well. */
  readonly problems: readonly string[];
}

/** What is played: how many nodes join, and how many of their instances go. The brake lets a fifth of a cluster's nodes go at a time. */
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
/** A node goes at the second look at the earliest. */
const LOOKS = 4;

/** Plays the life of a cluster's nodes, and of Services, with `run` beside an API server; closes neither that nor the cloud. */
export async function playCloud(
  cloud: StagedCloud,
  cluster: ClusterUnderTest,
  { nodes, gone: leaving, deletions }: CloudLife,
): Promise<PlayedCloud> {
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
        // Some kubelets are told their provider ID, and some are not.
        cluster.join(index % 5 < 3 ? { ...kubelet, name, providerID } : { ...kubelet, name }),
      ),
    );
    await history.until(`${nodes} nodes to come up`, () => history.schedulable === nodes, TIMEOUT_MS);
    const requests = cloud.requests();
    const problems = await problemsOf(instances, cluster, history);
    const records = [...history.records.values()];

    await Promise.all(instances.map(({ name }) => becomes(cluster, name, "True")));
    const gone = instances.slice(0, leaving);
    for (const instance of gone) cloud.remove?.(instance);
    // As Kubernetes' own node controller says it of a kubelet that is silent.
    await Promise.all(gone.map(({ name }) => becomes(cluster, name, "Unknown")));
    const isGone = new Set(gone.map(({ name }) => name));
    const deleted = () => records.filter((record) => record.deleted && isGone.has(record.name)).length;
    if (cloud.remove === undefined) await lookedAtAgain(started, leaving);
    else await history.until(`${leaving} nodes to go`, () => deleted() === leaving, TIMEOUT_MS);
    const { loadBalancers = [] } = cloud;
    const isPlayed = typeof loadBalancers === "object" && "outline" in loadBalancers;
    const services = isPlayed ? await playServices(loadBalancers, admin, deletions) : loadBalancers;

    const code = await started.end("SIGTERM");
    if (code !== 0) problems.push(`run ended with ${code}`);
    if (history.hole !== undefined) problems.push(history.hole);
    const said = JSON.stringify([started.lines, await cluster.plane.record(), records]);
    if (cloud.secrets?.some((secret) => said.includes(secret)))
      problems.push("a secret of the cloud was told");
    return {
      up: history.schedulable,
      naked: records.filter((record) => record.naked).length,
      deleted: deleted(),
      deletedWrongly: records.filter((record) => record.deleted && !isGone.has(record.name)).length,
      isToldOfGone: cloud.remove !== undefined,
      requests,
      services,
      problems,
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

/** Resolves once each of so many silent kubelets' nodes has been looked at often enough for it to go. */
async function lookedAtAgain({ lines }: Running, silent: number): Promise<void> {
  const looks = (): number => {
    const reports = lines.filter(({ event, controller }) => event === "Report" && controller === LIFECYCLE);
    return reports.reduce((sum, { objects }) => sum + Number(objects), 0);
  };
  const before = looks();
  await until("silent nodes to be looked at", async () => looks() >= before + LOOKS * silent, TIMEOUT_MS);
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
  if (instance.origin !== undefined)
    rows.push([INSTANCE_ANNOTATION, metadata.annotations?.[INSTANCE_ANNOTATION], instance.origin]);
  return rows.flatMap(([what, found, expected]) =>
    found === expected ? [] : [`${metadata.name}: ${what} is ${found}, and not ${expected}`],
  );
}
