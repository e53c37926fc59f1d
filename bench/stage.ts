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
  OUR_MANIFESTS,
  startKubeApiserver,
} from "#emulators/harness/kube-apiserver.ts";
import { type ManagedProcess, startProcess } from "#emulators/harness/managed-process.ts";
import { type NodeHistory, recordNodeHistory } from "#emulators/harness/node-history.ts";
import { connect } from "#kube/client/connect.ts";
import type { Transport } from "#kube/client/transport.ts";
import { access } from "#test/access.ts";

/** The user that the stock controller signs in as; bench/stock/access.yaml says what it may do. */
export const STOCK_USER = "cloud-controller-manager";

/** The cluster's name in its instances' tags. */
export const CLUSTER_TAG = "bench";

/** What all contenders meet: a new API server with an empty store, an EC2 endpoint in a process of its own, and a witness. */
export interface BenchStage {
  /** For files of a contender; removed at the end. */
  readonly folder: string;
  readonly plane: KubeApiserver;
  readonly admin: Transport;
  readonly history: NodeHistory;
  readonly ec2: Ec2Process;
  readonly controlPlanePids: { readonly kubeApiserver: number; readonly etcd: number };
  auditLog(): Promise<readonly AuditRecord[]>;
  close(): Promise<void>;
}

/** The EC2 endpoint, which is reached over HTTP alone. */
export interface Ec2Process {
  readonly url: string;
  readonly region: string;
  readonly account: string;
  addInstances(count: number): Promise<readonly Ec2Instance[]>;
  calls(): Promise<readonly CallRecord[]>;
}

/** Starts the stage; what was started is ended again where a part fails. */
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
      manifests: [...OUR_MANIFESTS, join(BENCH, "stock/access.yaml")],
    });
    closers.push(() => plane.close());
    const { process: ec2Process, ec2 } = await startEc2Process(cloudLatencyMs);
    closers.push(() => ec2Process.stop("SIGTERM"));
    const admin = connect(await access(plane, "admin"));
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
const EC2_PROGRAM = fileURLToPath(new URL("../emulators/ec2/main.ts", import.meta.url));

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
  await control(`${url}/_/behaviour`, { quotas: QUOTAS });
  return {
    process: ec2,
    ec2: {
      url,
      region,
      account,
      addInstances: async (count) => {
        const spec = { tags: { [`kubernetes.io/cluster/${CLUSTER_TAG}`]: "owned" } };
        const body = { instances: Array.from({ length: count }, () => spec) };
        const answer = await control(`${url}/_/instances`, body);
        return (answer as { readonly instances: readonly Ec2Instance[] }).instances;
      },
      calls: async () => (await control(`${url}/_/record`)) as readonly CallRecord[],
    },
  };
}

const START_TIMEOUT_MS = 20_000;

/**
 * EC2's own quotas but for one: with DescribeInstanceTopology's single call a second the stock controller, which asks for each node
 * by itself, takes minutes when it is tuned, and what is compared here would be that one call.
 */
const QUOTAS = { DescribeInstanceTopology: { capacity: 100_000, refillPerSecond: 100_000 } };

async function control(url: string, body?: unknown): Promise<unknown> {
  const answer = await fetch(url, {
    ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
    headers: { "content-type": "application/json" },
  });
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}: ${await answer.text()}`);
  return answer.json();
}
