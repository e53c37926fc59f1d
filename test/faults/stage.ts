import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createAwsCloud } from "#clouds/aws/cloud.ts";
import { AwsCloudConfig } from "#clouds/aws/config.ts";
import type { Cloud } from "#clouds/cloud.ts";
import { Cluster, type ClusterEntry } from "#config/cluster.ts";
import type { SignInRole } from "#config/sign-in/error.ts";
import { getSignInRole, signIn } from "#config/sign-in.ts";
import { findWatch } from "#core/controllers.ts";
import { DEFAULT_VPC_ID } from "#emulators/ec2/build-instance.ts";
import type { Ec2Instance } from "#emulators/ec2/instance.ts";
import type { InstanceSpec } from "#emulators/ec2/instance-spec.ts";
import { type Ec2Server, startEc2 } from "#emulators/ec2/server.ts";
import type { AuditRecord } from "#emulators/harness/audit-log.ts";
import { buildClusterEntry, writeClustersFile } from "#emulators/harness/clusters-file.ts";
import { OUR_USERS } from "#emulators/harness/control-plane.ts";
import { type ManagedProcess, startProcess } from "#emulators/harness/managed-process.ts";
import { type NodeHistory, recordNodeHistory } from "#emulators/harness/node-history.ts";
import { type ConnectOptions, connect } from "#kube/client/connect.ts";
import type { Transport } from "#kube/client/transport.ts";
import { pause } from "#kube/follow/clock.ts";
import { createLambdaInvoker } from "#platforms/lambda/invoker.ts";
import { type Relay, startRelay } from "#relay/relay.ts";
import type { OutcomeLine } from "#relay/report/outcome-line.ts";
import { buildMarkedNode, type ForeignMarks, type NodeDifference } from "#test/faults/foreign.ts";
import {
  createInProcessFunctions,
  FUNCTION_PREFIX,
  FUNCTION_TIMEOUT_MS,
  type FunctionProcess,
  getFunctionName,
  startFunctionProcess,
} from "#test/faults/functions.ts";
import { type FaultyPlatform, startFaultyPlatform } from "#test/faults/platform.ts";
import type { Random } from "#test/faults/random.ts";
import { createSkippingClock, type SkippingClock } from "#test/faults/skipping-clock.ts";
import type { World } from "#test/faults/world.ts";

/** The options of a row's stage. */
export interface StageOptions {
  /** Overrides the default entry; `server` and authority if a proxy is in front of the API server. */
  readonly entry?: Partial<ClusterEntry>;
  /** Keys of the cloud's configuration. */
  readonly cloud?: Readonly<Record<string, unknown>>;
  /** Options of the connections of relay and functions in this process. */
  readonly connection?: Partial<ConnectOptions>;
}

/** A node that must exist at the end, and its state. */
export interface ExpectedNode {
  readonly uid: string;
  readonly instance: Ec2Instance | undefined;
  readonly marks: ForeignMarks;
}

/** The stage of a row: the world with its own cloud, functions and relays. */
export interface Stage {
  readonly world: World;
  readonly random: Random;
  readonly clock: SkippingClock;
  readonly ec2: Ec2Server;
  readonly platform: FaultyPlatform;
  readonly history: NodeHistory;
  readonly expected: Map<string, ExpectedNode>;
  /** The log of the relays in this process. */
  readonly lines: readonly OutcomeLine[];
  /** For processes of this stage. */
  readonly environment: Readonly<Record<string, string>>;
  /**
   * The start of the row, in milliseconds of `Date.now`: earlier entries of the audit log belong to other
   * rows.
   */
  readonly startedAt: number;
  /** Launches instances and registers their nodes. */
  join(
    count: number,
    difference?: (index: number, instance: Ec2Instance) => NodeDifference,
    spec?: InstanceSpec,
  ): Promise<readonly Ec2Instance[]>;
  /** Registers a node, with or without an instance. */
  register(instance: Ec2Instance | string, difference?: NodeDifference): Promise<void>;
  /** Starts a relay in this process and resolves once it follows the cluster. */
  startRelay(): Promise<Relay>;
  /** Starts `serverless-ccm relay`; resolves once it has listed. */
  startRelayProcess(nodeFlags?: readonly string[]): Promise<ManagedProcess>;
  /** Starts functions in their own processes, in place of those in this one. */
  startFunctionProcess(nodeFlags?: readonly string[]): Promise<FunctionProcess>;
  /** Returns the API server's records since the start of the row. */
  audit(): Promise<readonly AuditRecord[]>;
  /** Resolves once so many more writes of ours have been carried out. */
  afterWrites(count: number): Promise<void>;
  /** Resolves when every expected node has lost our taint, or with what it waited for. */
  untilUp(timeoutMs?: number): Promise<void>;
  /** Ends all relays gracefully, and waits for what still runs. */
  settle(): Promise<void>;
  /** Closed with the stage, last one first. */
  closing(close: () => Promise<unknown>): void;
  close(): Promise<void>;
}

const CLUSTER = "faults";
const REGISTERING_AT_ONCE = 64;
const UP_TIMEOUT_MS = 120_000;
const POLL_MS = 10;
const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const ROLE_ARN_KEYS = { AWS_ACCESS_KEY_ID: "test", AWS_SECRET_ACCESS_KEY: "test" } as const;

/** Sets the stage of one row, which the caller closes. */
export async function setStage(world: World, random: Random, options: StageOptions = {}): Promise<Stage> {
  const closers: (() => Promise<unknown>)[] = [];
  const relays: Relay[] = [];
  const lines: OutcomeLine[] = [];
  const expected = new Map<string, ExpectedNode>();
  const startedAt = Date.now();
  /** Waits of functions for their share of a quota. */
  let sleeping = 0;
  /** Unanswered requests of relays. */
  let asking = 0;
  const clock = createSkippingClock(() => {
    if (relays.length === 0 || asking > 0) return undefined;
    const followed = relays.flatMap((relay) => relay.status());
    const invocations = followed.reduce((sum, each) => sum + each.invocations, 0);
    if (invocations > sleeping) return undefined;
    if (followed.some(({ needed }) => needed > 0)) return "told";
    const isDone = followed.every(({ ready }) => ready) && [...expected.values()].every(hasBeenUp);
    return isDone ? undefined : "untold";
  });
  const hasBeenUp = ({ uid, instance }: ExpectedNode): boolean =>
    instance === undefined || history.records.get(uid)?.schedulableAt !== undefined;
  closers.push(async () => clock.close());
  const ec2 = await startEc2({
    clock: {
      now: () => clock.wallTime().getTime(),
      sleep: (delayMs, signal) => sleep(delayMs, undefined, { signal }).catch(() => {}),
    },
  });
  closers.push(() => ec2.close());
  const platform = await startFaultyPlatform(random);
  closers.push(() => platform.close());
  const environment = {
    ...ROLE_ARN_KEYS,
    AWS_REGION: ec2.region,
    AWS_EC2_METADATA_DISABLED: "true",
    AWS_ENDPOINT_URL_EC2: ec2.url,
    AWS_ENDPOINT_URL_STS: ec2.url,
    AWS_ENDPOINT_URL_LAMBDA: platform.url,
  };
  // The SDK takes endpoint and keys from the environment, as it does for users.
  Object.assign(process.env, environment);

  const cloudConfig = AwsCloudConfig.parse({
    provider: "aws",
    region: ec2.region,
    vpc: DEFAULT_VPC_ID,
    ...options.cloud,
  });
  const written = buildClusterEntry(world.plane, { name: CLUSTER, cloud: cloudConfig, ...options.entry });
  const cluster = Cluster.parse(written);
  const clustersFile = join(world.folder, `clusters-${random.seed}-${startedAt}.yaml`);
  await writeClustersFile(clustersFile, written);
  const cloud: Cloud = createAwsCloud(cloudConfig, {
    clusterName: CLUSTER,
    sleep: async (delayMs, signal) => {
      sleeping += 1;
      await pause(clock, delayMs, signal);
      sleeping -= 1;
    },
    now: () => clock.now(),
    wallClock: () => clock.wallTime().getTime(),
  });
  closers.push(() => cloud.close());
  const connectAs = async (role: SignInRole): Promise<Transport> => {
    const transport = connect({
      server: cluster.server,
      ...(await signIn(cluster, role)),
      ...options.connection,
    });
    closers.push(() => transport.close());
    return transport;
  };
  /** During a request, the server determines the time. */
  const counted = (transport: Transport): Transport => {
    const count = async <Answer>(answering: Promise<Answer>): Promise<Answer> => {
      asking += 1;
      return answering.finally(() => {
        asking -= 1;
      });
    };
    return {
      send: (request) => count(transport.send(request)),
      stream: (request) => count(transport.stream(request)),
      close: () => transport.close(),
    };
  };
  const apis = new Map<SignInRole, Promise<Transport>>();
  const api = (controller: string): Promise<Transport> => {
    const role = getSignInRole(findWatch(controller)?.functionName ?? controller);
    const connected = apis.get(role) ?? connectAs(role);
    apis.set(role, connected);
    return connected;
  };
  platform.runWith(await createInProcessFunctions({ cluster, cloud, api, now: () => clock.wallTime() }));
  const history = await recordNodeHistory(world.admin);
  closers.push(() => history.close());

  const audit = async (): Promise<readonly AuditRecord[]> =>
    (await world.plane.auditLog()).filter(({ at }) => at >= startedAt);
  const writes = async (): Promise<number> => (await audit()).filter(isWriteOfOurs).length;

  const stage: Stage = {
    world,
    random,
    clock,
    ec2,
    platform,
    history,
    expected,
    lines,
    environment,
    startedAt,
    audit,
    join: async (count, difference = () => ({}), spec = {}) => {
      const instances = ec2.addInstances(Array.from({ length: count }, () => spec));
      const left = instances.entries();
      const worker = async (): Promise<void> => {
        for (const [index, instance] of left) await stage.register(instance, difference(index, instance));
      };
      await Promise.all(Array.from({ length: REGISTERING_AT_ONCE }, worker));
      return instances;
    },
    register: async (instance, difference = {}) => {
      const isReal = typeof instance !== "string";
      const name = difference.name ?? (isReal ? instance.privateDnsName : instance);
      const providerID = isReal
        ? `aws:///${instance.availabilityZone}/${instance.id}`
        : "aws:///eu-central-1a/i-00000000000000bad";
      const { node, marks } = buildMarkedNode(name, difference.providerID ?? providerID, difference);
      const { body } = await world.ask({ method: "POST", path: "/api/v1/nodes", body: node });
      expected.set(name, {
        uid: JSON.parse(body).metadata.uid,
        instance: isReal ? instance : undefined,
        marks,
      });
    },
    startRelay: async () => {
      const relay = startRelay({
        clusters: [{ cluster, transport: counted(await connectAs("relay")) }],
        invoker: createLambdaInvoker({
          functionName: getFunctionName,
          functionTimeoutMs: FUNCTION_TIMEOUT_MS,
          maxInFlight: 100,
          client: { endpoint: platform.url, region: ec2.region },
        }),
        identity: `r${relays.length}`,
        nodeStatusUpdateFrequencySeconds: 300,
        onOutcome: (line) => void lines.push(line),
        clock,
        random: random.next,
      });
      relays.push(relay);
      closers.push(() => relay.close());
      await waitOnStage("the relay to follow the cluster", () => relay.ready(), 60_000);
      return relay;
    },
    startRelayProcess: async (nodeFlags = []) => {
      const flags = ["--clusters-file", clustersFile, "--function-prefix", FUNCTION_PREFIX, "--port", "0"];
      let said = "";
      const child = startProcess(process.execPath, [...nodeFlags, MAIN, "relay", ...flags], {
        environment: { PATH: process.env["PATH"], ...environment },
        onErrorOutput: (chunk) => {
          if (!said.includes(LISTED)) said = (said + chunk).slice(-20_000);
        },
      });
      closers.push(() => child.stop("SIGKILL"));
      await waitOnStage(
        "the relay's process to list",
        () => said.includes(LISTED) || child.hasExited(),
        60_000,
      );
      if (child.hasExited()) throw new Error(`the relay ended: ${child.output()}`);
      return child;
    },
    startFunctionProcess: async (nodeFlags = []) => {
      const started = await startFunctionProcess({ ...environment, CLUSTERS_FILE: clustersFile }, nodeFlags);
      closers.push(() => started.process.stop("SIGKILL"));
      return started;
    },
    afterWrites: async (count) => {
      const wanted = (await writes()) + count;
      await waitOnStage(`${count} writes`, async () => (await writes()) >= wanted, UP_TIMEOUT_MS);
    },
    untilUp: async (timeoutMs = UP_TIMEOUT_MS) => {
      const isUp = (uid: string): boolean => {
        const latest = history.records.get(uid)?.latest;
        return latest?.spec.taints?.every(({ key }) => !key.endsWith("/uninitialized")) ?? false;
      };
      const left = (): string[] =>
        [...expected].flatMap(([name, { uid, instance }]) => (instance && !isUp(uid) ? [name] : []));
      const listed = async (): Promise<boolean> => {
        const nodes = new Map((await world.nodes()).map((node) => [node.metadata.uid, node]));
        return [...expected.values()].every(({ uid, instance }) => {
          const taints = nodes.get(uid)?.spec.taints ?? [];
          return instance === undefined || taints.every(({ key }) => !key.endsWith("/uninitialized"));
        });
      };
      await waitOnStage(
        "every node to come up",
        async () => (history.hole === undefined ? left().length === 0 : listed()),
        timeoutMs,
      ).catch((error: Error) => {
        const names = left();
        const last = lines.filter(({ event }) => event !== "Report").slice(-3);
        throw new Error(
          `${error.message}: ${names.length} are left, ${names[0]}; ${JSON.stringify(last).slice(0, 900)}`,
        );
      });
    },
    settle: async () => {
      for (const relay of relays.splice(0)) {
        await relay.drain(AbortSignal.timeout(40_000));
        await relay.close();
      }
      await platform.idle();
    },
    closing: (close) => void closers.push(close),
    close: async () => {
      for (const close of closers.splice(0).reverse()) await close();
    },
  };
  return stage;
}

const LISTED = '"event":"Listed"';

/** Returns whether a request is a write of ours that was carried out. */
export function isWriteOfOurs({ user, verb, code, resource }: AuditRecord): boolean {
  return (
    isOurs(user) &&
    resource === "nodes" &&
    verb !== "get" &&
    verb !== "list" &&
    verb !== "watch" &&
    code < 300
  );
}

/** Returns whether a user is one of ours, and not the world outside. */
export function isOurs(user: string): boolean {
  return OUR_USERS.includes(user);
}

/** Checks repeatedly until the condition holds; rejects with what it waited for. */
export async function waitOnStage(
  what: string,
  holds: () => boolean | Promise<boolean>,
  timeoutMs: number,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`waited ${timeoutMs / 1000} s for ${what}`);
    await sleep(POLL_MS);
  }
}

/** Reads a file's text, such as a token or a certificate. */
export async function readText(file: string): Promise<string> {
  return (await readFile(file, "utf8")).trim();
}
