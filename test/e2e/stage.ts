import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { LABEL_PAIRS } from "#core/contracts.ts";
import { isUninitialized } from "#core/node/taints.ts";
import { DEFAULT_VPC_ID } from "#emulators/ec2/build-instance.ts";
import type { Ec2Instance } from "#emulators/ec2/instance.ts";
import { type Ec2Server, startEc2 } from "#emulators/ec2/server.ts";
import { OUR_USERS } from "#emulators/harness/control-plane.ts";
import { buildIdentityFlags } from "#emulators/harness/identity-flags.ts";
import type { JoiningNodeOptions } from "#emulators/harness/joining-node.ts";
import {
  ADMISSION_POLICIES,
  type ControlPlaneBinaries,
  type KubeApiserver,
  OUR_MANIFESTS,
  startKubeApiserver,
} from "#emulators/harness/kube-apiserver.ts";
import { type NodeHistory, type NodeRecord, recordNodeHistory } from "#emulators/harness/node-history.ts";
import { type Running, startProgram } from "#test/cli/program.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";
import { witnessNakedNodes } from "#test/witness/naked-nodes.ts";

/** A real API server and an EC2 endpoint, with the actions and observations of end-to-end tests. */
export interface Stage {
  readonly folder: string;
  readonly plane: KubeApiserver;
  readonly cluster: ClusterUnderTest;
  readonly ec2: Ec2Server;
  readonly history: NodeHistory;
  /** For processes that use the endpoints of this stage. */
  readonly environment: Readonly<Record<string, string>>;
  /**
   * Starts `serverless-ccm run` with the relay and each function as themselves; it ends with the stage at the
   * latest.
   */
  run(...flags: readonly string[]): Promise<Running>;
  /** Starts any command of the command line; it ends with the stage. */
  program(flags: readonly string[], environment?: Readonly<Record<string, string>>): Running;
  /** Launches instances and registers their nodes, all at once. */
  join(count: number, kubelets?: Pick<JoiningNodeOptions, "nodeIP">): Promise<readonly Ec2Instance[]>;
  /** Returns how many patches of ours the API server has carried out. */
  writes(): Promise<number>;
  /** Resolves once there are so many. */
  untilWrites(count: number): Promise<void>;
  /** Resolves once these nodes match their instances, read by name. */
  untilUp(instances: readonly Ec2Instance[], timeoutMs?: number): Promise<void>;
  /**
   * Returns violations that the two witnesses saw. A node must never be naked, at any version or by a
   * rejected write; nor may it get a second value of a field that is written once. A missing version counts, too.
   * Empty without violations.
   */
  flaws(): Promise<readonly string[]>;
  close(): Promise<void>;
}

const LATENCY_MS = 60;
const POLL_MS = 50;
const UP_TIMEOUT_MS = 120_000;

/** Starts a stage with these manifests besides ours; the caller closes it. */
export async function startStage(binaries: ControlPlaneBinaries, ...more: readonly string[]): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), "e2e-"));
  const programs: Running[] = [];
  const ec2 = await startEc2({ behaviour: { latencyMs: LATENCY_MS } });
  let plane: KubeApiserver | undefined;
  const cluster = await startCluster(async (planeFolder) => {
    const manifests = [...OUR_MANIFESTS, ADMISSION_POLICIES, ...more];
    plane = await startKubeApiserver({ folder: planeFolder, binaries, manifests });
    return plane;
  });
  if (plane === undefined) throw new Error("the control plane was not started");
  const started = plane;
  const admin = await cluster.transport("admin");
  const naked = await witnessNakedNodes(started, admin);
  const history = await recordNodeHistory(admin);
  await writeFile(join(folder, "cloud.yaml"), `region: ${ec2.region}\nvpc: ${DEFAULT_VPC_ID}\n`);
  const environment = {
    AWS_REGION: ec2.region,
    AWS_ACCESS_KEY_ID: "test",
    AWS_SECRET_ACCESS_KEY: "test",
    AWS_EC2_METADATA_DISABLED: "true",
    AWS_ENDPOINT_URL_EC2: ec2.url,
  };
  const program: Stage["program"] = (flags, more = {}) => {
    const running = startProgram(flags, { ...environment, ...more });
    programs.push(running);
    return running;
  };
  const writes = async (): Promise<number> => {
    const records = await started.record();
    return records.filter(
      ({ user, verb, code }) => OUR_USERS.includes(user) && verb === "patch" && code === 200,
    ).length;
  };
  return {
    folder,
    plane: started,
    cluster,
    ec2,
    history,
    environment,
    program,
    writes,
    run: async (...flags) => {
      const cloud = ["--cloud-provider", "aws", "--cloud-config", join(folder, "cloud.yaml")];
      const access = await buildIdentityFlags(started);
      return program(["run", ...cloud, ...access, "--port", "0", ...flags]);
    },
    join: async (count, kubelets = {}) => {
      const instances = ec2.addInstances(Array.from({ length: count }, () => ({})));
      await Promise.all(instances.map((instance) => register(instance, kubelets)));
      return instances;
    },
    untilWrites: async (count) => {
      await waitUntil(`${count} writes`, async () => (await writes()) >= count, UP_TIMEOUT_MS);
    },
    untilUp: async (instances, timeoutMs = UP_TIMEOUT_MS) => {
      const wanted = new Map(instances.map((instance) => [instance.privateDnsName, instance]));
      const isUp = async (): Promise<boolean> => {
        const nodes = await listNodes();
        const up = nodes.filter((node) =>
          isInitializedFrom(node, wanted.get(node.metadata.name), ec2.region),
        );
        return up.length === wanted.size;
      };
      await waitUntil(`${wanted.size} nodes to come up`, isUp, timeoutMs);
    },
    flaws: async () => {
      const refused = await naked.writes();
      return [
        ...(history.hole === undefined ? [] : [`versions may be missing: ${history.hole}`]),
        ...refused.map(({ user, verb, name }) => `${user} was refused a ${verb} that leaves ${name} naked`),
        ...[...history.records.values()].flatMap(flawsOf),
      ];
    },
    close: async () => {
      await Promise.all(programs.map((running) => running.end("SIGKILL")));
      await history.close();
      await cluster.close();
      await ec2.close();
      await rm(folder, { recursive: true });
    },
  };

  function register(
    { id, availabilityZone, privateDnsName }: Ec2Instance,
    kubelet: Pick<JoiningNodeOptions, "nodeIP">,
  ): Promise<unknown> {
    return cluster.join({ name: privateDnsName, providerID: `aws:///${availabilityZone}/${id}`, ...kubelet });
  }

  async function listNodes(): Promise<readonly ListedNode[]> {
    // The request is repeated during a restart of the server.
    const answer = await admin.send({ method: "GET", path: "/api/v1/nodes" }).catch(() => undefined);
    return answer?.status === 200 ? JSON.parse(answer.body).items : [];
  }
}

/** Checks repeatedly until the condition holds; rejects with what it waited for. */
export async function waitUntil(
  what: string,
  holds: () => Promise<boolean>,
  timeoutMs: number,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`waited ${timeoutMs / 1000} s for ${what}`);
    await sleep(POLL_MS);
  }
}

interface ListedNode {
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly spec: { readonly providerID?: string; readonly taints?: readonly { readonly key: string }[] };
  readonly status: { readonly addresses?: readonly { readonly type: string; readonly address: string }[] };
}

function isInitializedFrom(
  { metadata, spec, status }: ListedNode,
  instance: Ec2Instance | undefined,
  region: string,
): boolean {
  if (instance === undefined) return false;
  const { id, availabilityZone, instanceType, privateDnsName, privateIpAddress } = instance;
  const values = [instanceType, availabilityZone, region];
  const labels = LABEL_PAIRS.flatMap(({ beta, stable }, index) =>
    [beta, stable].map((key) => metadata.labels?.[key] === values[index]),
  );
  const addresses = status.addresses?.map(({ type, address }) => `${type} ${address}`);
  return (
    !isUninitialized({ spec }) &&
    spec.providerID === `aws:///${availabilityZone}/${id}` &&
    addresses?.join() ===
      `InternalIP ${privateIpAddress},InternalDNS ${privateDnsName},Hostname ${privateDnsName}` &&
    labels.every(Boolean)
  );
}

function flawsOf({ name, naked, written }: NodeRecord): readonly string[] {
  const changed = Object.entries(written).filter(([, values]) => values.size > 1);
  return [
    ...(naked ? [`${name} was naked`] : []),
    ...changed.map(([key, values]) => `${name} had more than one ${key}: ${[...values].join(", ")}`),
  ];
}
