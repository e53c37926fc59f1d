import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as z from "zod";
import type { CallRecord } from "#emulators/ec2/call-record.ts";
import type { Ec2Instance } from "#emulators/ec2/instance.ts";
import type { AuditRecord } from "#emulators/harness/audit-log.ts";
import {
  type ControlPlaneBinaries,
  type KubeApiserver,
  LOOK_AHEAD,
  NODE_CLAIM_DEFINITION,
  OUR_MANIFESTS,
  startKubeApiserver,
} from "#emulators/harness/kube-apiserver.ts";
import { type ManagedProcess, startProcess } from "#emulators/harness/managed-process.ts";
import { type NodeHistory, recordNodeHistory } from "#emulators/harness/node-history.ts";
import { connect } from "#kube/client/connect.ts";
import type { Transport } from "#kube/client/transport.ts";
import { getConnectOptions } from "#test/access.ts";

/** The stock controller's user; bench/stock/access.yaml holds its rights. */
export const STOCK_USER = "cloud-controller-manager";

/** The cluster's name in its instances' tags. */
export const CLUSTER_TAG = "bench";

/**
 * The stage of every contender: a new API server with an empty store, an EC2 endpoint in its own process, and
 * a witness.
 */
export interface BenchStage {
  /** For a contender's files; removed at the end. */
  readonly folder: string;
  readonly plane: KubeApiserver;
  readonly admin: Transport;
  readonly history: NodeHistory;
  readonly ec2: Ec2Process;
  readonly controlPlanePids: { readonly kubeApiserver: number; readonly etcd: number };
  auditLog(): Promise<readonly AuditRecord[]>;
  close(): Promise<void>;
}

/** The EC2 endpoint, reachable only over HTTP. */
export interface Ec2Process {
  readonly url: string;
  readonly region: string;
  readonly account: string;
  /** Adds running instances of a cluster; `clusterTag` is its name in their tags. */
  addInstances(count: number, clusterTag?: string): Promise<readonly Ec2Instance[]>;
  calls(): Promise<readonly CallRecord[]>;
}

/** Starts the stage; if a part fails, everything already started is ended. */
export async function setBenchStage(
  binaries: ControlPlaneBinaries,
  cloudLatencyMs: number,
): Promise<BenchStage> {
  const folder = await mkdtemp(join(tmpdir(), "serverless-ccm-bench-"));
  const closers: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
  const close = async (): Promise<void> => {
    for (const part of closers.splice(0).reverse()) await part();
  };
  try {
    const plane = await startKubeApiserver({
      folder: join(folder, "control-plane"),
      binaries,
      users: [{ name: STOCK_USER, groups: ["system:authenticated"] }],
      manifests: [...OUR_MANIFESTS, ...LOOK_AHEAD, NODE_CLAIM_DEFINITION, join(BENCH, "stock/access.yaml")],
    });
    closers.push(() => plane.close());
    const { process: ec2Process, ec2 } = await startEc2Process(cloudLatencyMs);
    closers.push(() => ec2Process.stop("SIGTERM"));
    const admin = connect(await getConnectOptions(plane, "admin"));
    closers.push(() => admin.close());
    const history = await recordNodeHistory(admin);
    closers.push(() => history.close());
    return {
      folder,
      plane,
      admin,
      history,
      ec2,
      controlPlanePids: plane.pids(),
      auditLog: () => plane.auditLog(),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

const BENCH = fileURLToPath(new URL(".", import.meta.url));
const EC2_PROGRAM = fileURLToPath(new URL("../src/emulators/ec2/main.ts", import.meta.url));

const Started = z.object({ url: z.string(), region: z.string(), account: z.string() });

async function startEc2Process(
  latencyMs: number,
): Promise<{ readonly process: ManagedProcess; readonly ec2: Ec2Process }> {
  const ec2 = startProcess(process.execPath, [EC2_PROGRAM, "--latency-ms", String(latencyMs)]);
  const deadline = performance.now() + START_TIMEOUT_MS;
  while (!ec2.output().includes("\n")) {
    if (ec2.hasExited() || performance.now() > deadline) {
      await ec2.stop("SIGKILL");
      throw new Error(`the EC2 endpoint did not start: ${ec2.output()}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const { url, region, account } = Started.parse(JSON.parse(ec2.output()));
  await callControl(`${url}/_/behaviour`, { quotas: QUOTAS });
  return {
    process: ec2,
    ec2: {
      url,
      region,
      account,
      addInstances: async (count, clusterTag = CLUSTER_TAG) => {
        const spec = { tags: { [`kubernetes.io/cluster/${clusterTag}`]: "owned" } };
        const body = { instances: Array.from({ length: count }, () => spec) };
        const answer = await callControl(`${url}/_/instances`, body);
        return (answer as { readonly instances: readonly Ec2Instance[] }).instances;
      },
      calls: async () => (await callControl(`${url}/_/record`)) as readonly CallRecord[],
    },
  };
}

const START_TIMEOUT_MS = 20_000;

/**
 * EC2's own quotas except one. DescribeInstanceTopology allows a single call a second, and the stock
 * controller reads each node separately: tuned, it would take minutes, and the comparison would measure only
 * that call.
 */
const QUOTAS = { DescribeInstanceTopology: { capacity: 100_000, refillPerSecond: 100_000 } };

async function callControl(url: string, body?: unknown): Promise<unknown> {
  const answer = await fetch(url, {
    ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
    headers: { "content-type": "application/json" },
  });
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}: ${await answer.text()}`);
  return answer.json();
}
