import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as z from "zod";
import { type Attacker, startAttacker } from "#bench/hostile/attacker-process.ts";
import { JoinedNode, joinSteadily, type Machine } from "#bench/hostile/join-steadily.ts";
import type { JoiningPlan } from "#bench/hostile/joining-plan.ts";
import { HOSTILE } from "#bench/hostile/watch-phase.ts";
import { keepNodes, registerNodes } from "#bench/idle/kubelets.ts";
import { startFunctions } from "#bench/idle/start-functions.ts";
import { addMachines, buildEntry, nameTenant, Tenant, toTenant } from "#bench/idle/tenant.ts";
import { waitForOutput } from "#bench/idle/wait-for-output.ts";
import { type BenchStage, setBenchStage } from "#bench/stage.ts";
import { DEFAULT_VPC_ID } from "#emulators/ec2/build-instance.ts";
import { writeClustersFile } from "#emulators/harness/clusters-file.ts";
import type { ControlPlaneBinaries } from "#emulators/harness/kube-apiserver.ts";
import { startProcess } from "#emulators/harness/managed-process.ts";

export interface HostileStageOptions {
  readonly binaries: ControlPlaneBinaries;
  /** The number of clusters: one is hostile, one is on a kube-apiserver. */
  readonly clusters: number;
  readonly nodesEach: number;
  /** Nodes that join per second, over all clusters but the hostile one. */
  readonly rate: number;
  readonly bytesPerSecond: number;
  /** The maximum of concurrent invocations on the platform. */
  readonly slots: number;
  readonly say: (line: string) => void;
}

/**
 * Clusters whose nodes join all the time, a hostile cluster, the functions behind Lambda's Invoke API, and
 * EC2.
 */
export interface HostileBenchStage {
  readonly clustersFile: string;
  /** The environment of a relay. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly attacker: Attacker;
  /** Every node that has joined the others so far and has a result. */
  readonly joined: readonly JoinedNode[];
  close(): Promise<void>;
}

/** Milliseconds of a call to EC2. */
const CLOUD_LATENCY_MS = 60;
/** Embedded API servers in one process. */
const EMBEDDED_PER_PROCESS = 10;
/** More than can join at a time at the slowest. */
const MACHINES_EACH = 6;
/** The machines of the attacking tenant. */
const HOSTILE_MACHINES = 60;
const START_TIMEOUT_MS = 120_000;
const HEARTBEAT_SECONDS = 300;
const TENANTS = fileURLToPath(new URL("tenants.ts", import.meta.url));

type Closer = () => Promise<unknown>;

/** Starts the stage; if a part fails, everything already started is ended. */
export async function setHostileBenchStage(options: HostileStageOptions): Promise<HostileBenchStage> {
  const closers: Closer[] = [];
  const close = async (): Promise<void> => {
    for (const part of closers.splice(0).reverse()) await part();
  };
  try {
    const bench = await setBenchStage(options.binaries, CLOUD_LATENCY_MS);
    closers.push(() => bench.close());
    const { plans, hostileMachines } = await planAll(bench, options);
    const joined: JoinedNode[] = [];
    const everyMs = (plans.length / options.rate) * 1000;
    const [realPlan, ...embeddedPlans] = plans;
    const tenants: Tenant[] = [];
    if (realPlan !== undefined) tenants.push(await startReal(bench, realPlan, everyMs, joined, closers));
    tenants.push(
      ...(await startEmbedded(bench.folder, embeddedPlans, everyMs, joined, closers, options.say)),
    );
    const attacker = await startAttacker(bench.folder, {
      bytesPerSecond: options.bytesPerSecond,
      machines: hostileMachines,
      others: plans.slice(0, 5).flatMap(({ machines }) => machines.slice(0, 1)),
    });
    closers.push(() => attacker.stop());
    const clustersFile = join(bench.folder, "clusters.yaml");
    const cloud = { region: bench.ec2.region, vpc: DEFAULT_VPC_ID };
    await writeClustersFile(
      clustersFile,
      ...[...tenants, attacker.tenant].map((tenant) => buildEntry(tenant, cloud)),
    );
    const environment = await startFunctions(bench, clustersFile, closers, options.slots);
    return { clustersFile, environment, attacker, joined, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function planAll(
  bench: BenchStage,
  { clusters, nodesEach }: HostileStageOptions,
): Promise<{ readonly plans: readonly JoiningPlan[]; readonly hostileMachines: readonly Machine[] }> {
  const each = nodesEach + MACHINES_EACH;
  const plans: JoiningPlan[] = [];
  for (let index = 0; index < clusters - 1; index += 1) {
    const name = nameTenant(index);
    const own = await addMachines(bench, each, name);
    const [nodes, machines] = [own.slice(0, nodesEach), own.slice(nodesEach)];
    plans.push({ name, folder: join(bench.folder, name), nodes, machines });
  }
  return { plans, hostileMachines: await addMachines(bench, HOSTILE_MACHINES, HOSTILE) };
}

/** Starts the bench's own kube-apiserver, whose nodes join from this process. */
async function startReal(
  { plane, admin, history }: BenchStage,
  { name, nodes, machines }: JoiningPlan,
  everyMs: number,
  joined: JoinedNode[],
  closers: Closer[],
): Promise<Tenant> {
  const stopping = new AbortController();
  await registerNodes(admin, nodes);
  const { signal } = stopping;
  void keepNodes(admin, nodes, HEARTBEAT_SECONDS, signal);
  void joinSteadily({ admin, history, machines, everyMs, signal, onJoined: (node) => joined.push(node) });
  closers.push(async () => stopping.abort());
  return toTenant(name, plane);
}

async function startEmbedded(
  folder: string,
  plans: readonly JoiningPlan[],
  everyMs: number,
  joined: JoinedNode[],
  closers: Closer[],
  say: (line: string) => void,
): Promise<readonly Tenant[]> {
  const tenants: Tenant[] = [];
  for (let first = 0; first < plans.length; first += EMBEDDED_PER_PROCESS) {
    const some = plans.slice(first, first + EMBEDDED_PER_PROCESS);
    say(`${some[0]?.name} to ${some.at(-1)?.name}: embedded`);
    const [plansFile, tenantsFile] = [join(folder, "plans.json"), join(folder, "tenants.json")];
    await writeFile(plansFile, JSON.stringify(some));
    let rest = "";
    const program = startProcess(process.execPath, [TENANTS, plansFile, tenantsFile, String(everyMs)], {
      onErrorOutput: (chunk) => {
        const lines = (rest + chunk).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) if (line.startsWith("{")) joined.push(JoinedNode.parse(JSON.parse(line)));
      },
    });
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
