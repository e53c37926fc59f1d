import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { Contender, RunningContender } from "#bench/contenders/contender.ts";
import type { Measurement, Row } from "#bench/measurement.ts";
import { readUsage } from "#bench/process-usage.ts";
import type { Programs } from "#bench/programs.ts";
import { type BenchStage, setBenchStage } from "#bench/stage.ts";
import type { Ec2Instance } from "#emulators/ec2/instance.ts";
import type { AuditRecord } from "#emulators/harness/audit-log.ts";
import { buildJoiningNode } from "#emulators/harness/joining-node.ts";
import type { NodeRecord } from "#emulators/harness/node-history.ts";

/** One run: its row, its contender, and its time limit. */
export interface RunOptions {
  readonly row: Row;
  readonly contender: Contender;
  readonly repetition: number;
  readonly programs: Programs;
  readonly cloudLatencyMs: number;
  /** Milliseconds after which nodes that are not up count as missing. */
  readonly limitMs: number;
}

/**
 * Puts a contender into a row's situation on a new stage and measures it. Everything started has ended
 * afterwards.
 */
export async function runOnce(options: RunOptions): Promise<Measurement> {
  const loadAverage = await readLoadAverage();
  const stage = await setBenchStage(options.programs.controlPlane, options.cloudLatencyMs);
  let running: RunningContender | undefined;
  try {
    const { row, contender, programs } = options;
    const instances = await stage.ec2.addInstances(row.nodes);
    const start = (): Promise<RunningContender> =>
      contender.start({ stage, programs, instances, isAnnounced: row.announcedSeconds !== undefined });
    let registeringMs = 0;
    if (row.arrival.kind === "there") await register(stage, row, instances);
    else {
      running = await start();
      await waitUntilWatching(stage, contender, running);
    }
    const announcing = announce(stage, row, instances);
    await sleep((row.announcedSeconds ?? 0) * 1_000);
    const before = await readTotalUsage(stage, running);
    const startedAt = performance.now();
    const registered =
      row.arrival.kind === "there"
        ? Promise.resolve()
        : register(stage, row, instances).then(() => {
            registeringMs = performance.now() - startedAt;
          });
    running ??= await start();
    await Promise.all([announcing, registered, waitUntilUp(stage, row, running, options.limitMs)]);
    const after = await readTotalUsage(stage, running);
    const records = [...stage.history.records.values()];
    if (stage.history.hole !== undefined)
      throw new Error(`the witness missed something: ${stage.history.hole}`);
    return {
      row: row.id,
      contender: contender.name,
      repetition: options.repetition,
      ...computeTimes(records, startedAt),
      registeringMs: round(registeringMs),
      nakedNodes: records.filter(({ naked }) => naked).length,
      missingNodes: row.nodes - stage.history.schedulable,
      ...countRequests(await readAuditLog(stage), contender.users),
      ...countCalls(await stage.ec2.calls()),
      cpuSeconds: {
        contender: round(after.contender.cpuSeconds - before.contender.cpuSeconds),
        kubeApiserver: round(after.kubeApiserver.cpuSeconds - before.kubeApiserver.cpuSeconds),
        etcd: round(after.etcd.cpuSeconds - before.etcd.cpuSeconds),
      },
      peakMemoryMiB: round((await readUsage(running.pids.slice(0, 1))).peakMemoryMiB),
      loadAverage,
    };
  } finally {
    await running?.stop();
    await stage.close();
  }
}

/** Concurrent registrations; each kubelet has its own connection, but the server's work is the same. */
const REGISTERING_AT_ONCE = 64;

async function register(stage: BenchStage, row: Row, instances: readonly Ec2Instance[]): Promise<void> {
  const { arrival } = row;
  if (arrival.kind === "rate") {
    const startedAt = performance.now();
    const sent = instances.map(async (instance, index) => {
      const dueMs = (index * 1000) / arrival.nodesPerSecond - (performance.now() - startedAt);
      await sleep(Math.max(0, dueMs));
      await registerOne(stage, row, instance);
    });
    await Promise.all(sent);
    return;
  }
  const left = instances.values();
  const worker = async (): Promise<void> => {
    for (const instance of left) await registerOne(stage, row, instance);
  };
  await Promise.all(Array.from({ length: REGISTERING_AT_ONCE }, worker));
}

/** Creates the NodeClaims of an announced row, at the rate at which its nodes register. */
async function announce(stage: BenchStage, row: Row, instances: readonly Ec2Instance[]): Promise<void> {
  if (row.announcedSeconds === undefined) return;
  const startedAt = performance.now();
  const { arrival } = row;
  const spacingMs = arrival.kind === "rate" ? 1_000 / arrival.nodesPerSecond : 0;
  for (const [index, instance] of instances.entries()) {
    await sleep(Math.max(0, index * spacingMs - (performance.now() - startedAt)));
    await announceOne(stage, instance);
  }
}

const NODE_CLAIMS_PATH = "/apis/karpenter.sh/v1/nodeclaims";

async function announceOne(
  { admin }: BenchStage,
  { availabilityZone, id, privateDnsName: name }: Ec2Instance,
): Promise<void> {
  const claim = { apiVersion: "karpenter.sh/v1", kind: "NodeClaim", metadata: { name } };
  const created = await admin.send({ method: "POST", path: NODE_CLAIMS_PATH, body: claim });
  const launched = await admin.send({
    method: "PATCH",
    path: `${NODE_CLAIMS_PATH}/${name}/status`,
    contentType: "application/merge-patch+json",
    body: { status: { providerID: `aws:///${availabilityZone}/${id}` } },
  });
  for (const { status, body } of [created, launched])
    if (status >= 300) throw new Error(`announcing ${name} answered ${status}: ${body}`);
}

async function registerOne({ admin }: BenchStage, row: Row, instance: Ec2Instance): Promise<void> {
  const { availabilityZone, id, privateDnsName: name } = instance;
  const providerID = `aws:///${availabilityZone}/${id}`;
  const body = buildJoiningNode({ name, ...(row.providerIds ? { providerID } : {}) });
  const answer = await admin.send({ method: "POST", path: "/api/v1/nodes", body });
  if (answer.status !== 201) throw new Error(`registering ${name} answered ${answer.status}: ${answer.body}`);
}

const WATCHING_TIMEOUT_MS = 60_000;
/** Synced caches and started workers have no visible sign. */
const SETTLING_MS = 1_000;

/** Waits until the API server has answered the contender's watch of nodes: then it is ready. */
async function waitUntilWatching(
  stage: BenchStage,
  contender: Contender,
  running: RunningContender,
): Promise<void> {
  const deadline = performance.now() + WATCHING_TIMEOUT_MS;
  const isWatch = ({ user, verb, resource }: AuditRecord): boolean =>
    contender.users.includes(user) && verb === "watch" && resource === "nodes";
  while (!(await stage.auditLog()).some(isWatch)) {
    failWith(running, performance.now() > deadline ? "it did not watch nodes in time" : undefined);
    await sleep(50);
  }
  await sleep(SETTLING_MS);
}

async function waitUntilUp(
  { history }: BenchStage,
  row: Row,
  running: RunningContender,
  limitMs: number,
): Promise<void> {
  const isDone = (): boolean => history.schedulable === row.nodes || running.failure() !== undefined;
  await history.until(`${row.nodes} nodes to come up`, isDone, limitMs).catch(() => {});
  failWith(running, undefined);
}

function failWith(running: RunningContender, otherwise: string | undefined): void {
  const failure = running.failure() ?? otherwise;
  if (failure !== undefined) throw new Error(`the contender failed: ${failure}`);
}

async function readTotalUsage({ controlPlanePids }: BenchStage, running: RunningContender | undefined) {
  const [contender, kubeApiserver, etcd] = await Promise.all([
    readUsage(running?.pids ?? []),
    readUsage([controlPlanePids.kubeApiserver]),
    readUsage([controlPlanePids.etcd]),
  ]);
  return { contender, kubeApiserver, etcd };
}

function computeTimes(
  records: readonly NodeRecord[],
  startedAt: number,
): Pick<Measurement, "latenciesMs" | "totalMs"> {
  const up = records.flatMap(({ addedAt, schedulableAt }) =>
    schedulableAt === undefined ? [] : [{ addedAt, schedulableAt }],
  );
  const latencies = up.map(({ addedAt, schedulableAt }) => round(schedulableAt - addedAt));
  const last = up.reduce((latest, { schedulableAt }) => Math.max(latest, schedulableAt), startedAt);
  return { latenciesMs: latencies.sort((a, b) => a - b), totalMs: round(last - startedAt) };
}

/** The time for Events of a last batch, after the last node. */
const AFTERWARDS_MS = 700;

async function readAuditLog(stage: BenchStage): Promise<readonly AuditRecord[]> {
  await sleep(AFTERWARDS_MS);
  return stage.auditLog();
}

function countRequests(
  records: readonly AuditRecord[],
  users: readonly string[],
): Pick<Measurement, "nodeWrites" | "nodeReads" | "eventWrites" | "tooManyRequests"> {
  const own = records.filter(({ user }) => users.includes(user));
  const count = (resource: string, verbs: readonly string[]): number =>
    own.filter((each) => each.resource === resource && verbs.includes(each.verb)).length;
  return {
    nodeWrites: count("nodes", ["patch", "update", "delete"]),
    nodeReads: count("nodes", ["get"]),
    eventWrites: count("events", ["create", "patch", "update"]),
    tooManyRequests: own.filter(({ code }) => code === 429).length,
  };
}

function countCalls(
  calls: readonly { readonly code: string }[],
): Pick<Measurement, "cloudCalls" | "cloudThrottled"> {
  const throttled = calls.filter(({ code }) => code === "RequestLimitExceeded");
  return { cloudCalls: calls.length, cloudThrottled: throttled.length };
}

async function readLoadAverage(): Promise<number> {
  return Number((await readFile("/proc/loadavg", "utf8")).split(" ", 1)[0]);
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
