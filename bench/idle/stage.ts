import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as z from "zod";
import { keepNodes, registerNodes } from "#bench/idle/kubelets.ts";
import { startFunctions } from "#bench/idle/start-functions.ts";
import { connectAsAdmin, entryOf, Tenant, type TenantPlan, tenantOf } from "#bench/idle/tenant.ts";
import { untilSaid } from "#bench/idle/until-said.ts";
import { type BenchStage, CLUSTER_TAG, setBenchStage } from "#bench/stage.ts";
import { isUninitialized } from "#core/node/taints.ts";
import { DEFAULT_VPC_ID } from "#emulators/ec2/build-instance.ts";
import { writeClustersFile } from "#emulators/harness/clusters-file.ts";
import { type ControlPlaneBinaries, startKubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import { startProcess } from "#emulators/harness/managed-process.ts";
import { listAll } from "#kube/follow/list.ts";

export interface IdleStageOptions {
  readonly binaries: ControlPlaneBinaries;
  readonly clusters: number;
  /** Of the clusters; at least one. */
  readonly kubeApiservers: number;
  readonly nodesEach: number;
  readonly heartbeatSeconds: number;
  readonly say: (line: string) => void;
}

/** Clusters full of nodes that nobody has initialized yet, the functions behind Lambda's Invoke API, and EC2. */
export interface IdleStage {
  readonly bench: BenchStage;
  readonly clustersFile: string;
  /** Of a relay. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Nodes that still have the uninitialized taint, as the API servers themselves list them. */
  uninitialized(): Promise<number>;
  close(): Promise<void>;
}

const CLOUD_LATENCY_MS = 60;

/** Embedded API servers in one process; so many that the relay is the only one that has all of them. */
const EMBEDDED_PER_PROCESS = 10;

/** Starts the stage; what was started is ended again where a part fails. */
export async function setIdleStage(options: IdleStageOptions): Promise<IdleStage> {
  const closers: Closer[] = [];
  const close = async (): Promise<void> => {
    for (const part of closers.splice(0).reverse()) await part();
  };
  try {
    const bench = await setBenchStage(options.binaries, CLOUD_LATENCY_MS);
    closers.push(() => bench.close());
    const plans = await planTenants(bench, options);
    const tenants = [
      ...(await startReal(bench, plans.slice(0, options.kubeApiservers), options, closers)),
      ...(await startEmbedded(bench, plans.slice(options.kubeApiservers), options, closers)),
    ];
    const clustersFile = join(bench.folder, "clusters.yaml");
    const cloud = { region: bench.ec2.region, vpc: DEFAULT_VPC_ID, clusterTag: CLUSTER_TAG };
    await writeClustersFile(clustersFile, ...tenants.map((tenant) => entryOf(tenant, cloud)));
    const environment = await startFunctions(bench, clustersFile, closers);
    return { bench, clustersFile, environment, uninitialized: () => uninitializedOf(tenants), close };
  } catch (error) {
    await close();
    throw error;
  }
}

type Closer = () => Promise<unknown>;

const START_TIMEOUT_MS = 120_000;
const TENANTS = fileURLToPath(new URL("tenants.ts", import.meta.url));

async function planTenants(
  bench: BenchStage,
  { clusters, nodesEach }: IdleStageOptions,
): Promise<readonly TenantPlan[]> {
  const instances = await bench.ec2.addInstances(clusters * nodesEach);
  const nodes = instances.map(({ privateDnsName: name, availabilityZone, id }) => {
    return { name, providerID: `aws:///${availabilityZone}/${id}` };
  });
  return Array.from({ length: clusters }, (_, index) => ({
    name: `tenant-${index}`,
    folder: join(bench.folder, `tenant-${index}`),
    nodes: nodes.slice(index * nodesEach, (index + 1) * nodesEach),
  }));
}

/** The first of them is the bench's own, beside which the stock controller can be put. */
async function startReal(
  bench: BenchStage,
  plans: readonly TenantPlan[],
  { binaries, heartbeatSeconds, say }: IdleStageOptions,
  closers: Closer[],
): Promise<readonly Tenant[]> {
  const tenants: Tenant[] = [];
  const stopping = new AbortController();
  for (const [index, { name, folder, nodes }] of plans.entries()) {
    say(`${name}: kube-apiserver`);
    const plane = index === 0 ? bench.plane : await startKubeApiserver({ folder, binaries });
    if (plane !== bench.plane) closers.push(() => plane.close());
    const tenant = tenantOf(name, plane);
    const admin = await connectAsAdmin(tenant);
    closers.push(() => admin.close());
    await registerNodes(admin, nodes);
    void keepNodes(admin, nodes, heartbeatSeconds, stopping.signal);
    tenants.push(tenant);
  }
  closers.push(async () => stopping.abort());
  return tenants;
}

async function startEmbedded(
  bench: BenchStage,
  plans: readonly TenantPlan[],
  { heartbeatSeconds, say }: IdleStageOptions,
  closers: Closer[],
): Promise<readonly Tenant[]> {
  const tenants: Tenant[] = [];
  for (let first = 0; first < plans.length; first += EMBEDDED_PER_PROCESS) {
    const some = plans.slice(first, first + EMBEDDED_PER_PROCESS);
    say(`${some[0]?.name} to ${some.at(-1)?.name}: embedded`);
    const [plansFile, tenantsFile] = [join(bench.folder, "plans.json"), join(bench.folder, "tenants.json")];
    await writeFile(plansFile, JSON.stringify(some));
    const program = startProcess(process.execPath, [
      TENANTS,
      plansFile,
      tenantsFile,
      String(heartbeatSeconds),
    ]);
    closers.push(() => program.stop("SIGKILL"));
    await untilSaid(program, () => program.output().includes("ready"), "the API servers", START_TIMEOUT_MS);
    tenants.push(...z.array(Tenant).parse(JSON.parse(await readFile(tenantsFile, "utf8"))));
  }
  return tenants;
}

const Tainted = z.object({
  spec: z.object({ taints: z.array(z.object({ key: z.string() })).optional() }),
});

async function uninitializedOf(tenants: readonly Tenant[]): Promise<number> {
  let count = 0;
  for (const tenant of tenants) {
    const admin = await connectAsAdmin(tenant);
    const listed = await listAll(
      admin,
      "/api/v1/nodes",
      (node) => isUninitialized(Tainted.parse(node)),
      new AbortController().signal,
    );
    await admin.close();
    if (listed.kind === "failed") throw new Error(`${tenant.name}: ${listed.message}`);
    count += listed.items.filter(Boolean).length;
  }
  return count;
}
