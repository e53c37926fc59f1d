import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as z from "zod";
import { keepNodes, registerNodes } from "#bench/idle/kubelets.ts";
import { startFunctions } from "#bench/idle/start-functions.ts";
import {
  addMachines,
  buildEntry,
  connectAsAdmin,
  nameTenant,
  Tenant,
  type TenantPlan,
  toTenant,
} from "#bench/idle/tenant.ts";
import { waitForOutput } from "#bench/idle/wait-for-output.ts";
import { type BenchStage, setBenchStage } from "#bench/stage.ts";
import { isUninitialized } from "#core/node/taints.ts";
import { DEFAULT_VPC_ID } from "#emulators/ec2/build-instance.ts";
import { writeClustersFile } from "#emulators/harness/clusters-file.ts";
import { type ControlPlaneBinaries, startKubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import { startProcess } from "#emulators/harness/managed-process.ts";
import { listAll } from "#kube/follow/list.ts";

export interface IdleStageOptions {
  readonly binaries: ControlPlaneBinaries;
  readonly clusters: number;
  /** The number of clusters on kube-apiservers; at least one. */
  readonly kubeApiservers: number;
  readonly nodesEach: number;
  readonly heartbeatSeconds: number;
  readonly say: (line: string) => void;
}

/** Clusters full of uninitialized nodes, the functions behind Lambda's Invoke API, and EC2. */
export interface IdleStage {
  readonly bench: BenchStage;
  readonly clustersFile: string;
  /** The environment of a relay. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Returns the nodes with the uninitialized taint, according to the API servers. */
  uninitialized(): Promise<number>;
  close(): Promise<void>;
}

const CLOUD_LATENCY_MS = 60;

/** Embedded API servers in one process, so that only the relay holds all of them. */
const EMBEDDED_PER_PROCESS = 10;

/** Starts the stage; if a part fails, everything already started is ended. */
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
    const cloud = { region: bench.ec2.region, vpc: DEFAULT_VPC_ID };
    await writeClustersFile(clustersFile, ...tenants.map((tenant) => buildEntry(tenant, cloud)));
    const environment = await startFunctions(bench, clustersFile, closers);
    return { bench, clustersFile, environment, uninitialized: () => countUninitialized(tenants), close };
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
  const plans: TenantPlan[] = [];
  for (let index = 0; index < clusters; index += 1) {
    const name = nameTenant(index);
    const nodes = await addMachines(bench, nodesEach, name);
    plans.push({ name, folder: join(bench.folder, name), nodes });
  }
  return plans;
}

/** Starts kube-apiservers; the first is the bench's own, to which the stock controller can connect. */
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
    const tenant = toTenant(name, plane);
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
    await waitForOutput(
      program,
      () => program.output().includes("ready"),
      "the API servers",
      START_TIMEOUT_MS,
    );
    tenants.push(...z.array(Tenant).parse(JSON.parse(await readFile(tenantsFile, "utf8"))));
  }
  return tenants;
}

const Tainted = z.object({
  spec: z.object({ taints: z.array(z.object({ key: z.string() })).optional() }),
});

async function countUninitialized(tenants: readonly Tenant[]): Promise<number> {
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
