import { mkdtempSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSecretFolder } from "#cli/clusters/clusters-file.ts";
import { type ChildProgram, type LogLine, startChildProgram } from "#cli/demo/child-program.ts";

import { type DemoCloud, type DemoCloudName, startDemoCloud } from "#cli/demo/clouds.ts";
import { buildWalk, recordAnswers, type Walk } from "#cli/demo/walk.ts";
import type { Cloud } from "#clouds/cloud.ts";
import type { ClusterEntry, Clusters } from "#config/cluster.ts";
import { readClustersFile } from "#config/read-clusters-file.ts";
import { Event } from "#core/event.ts";
import { nodeController } from "#core/node/controller.ts";
import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { buildClusterEntry, writeClustersFile } from "#emulators/harness/clusters-file.ts";
import type { ControlPlane } from "#emulators/harness/control-plane.ts";
import { findFreePort } from "#emulators/harness/free-port.ts";
import { type FunctionEnvironment, startFunctionPlatform } from "#emulators/harness/function-platform.ts";
import { type NodeHistory, recordNodeHistory } from "#emulators/harness/node-history.ts";
import { startLambda } from "#emulators/lambda/server.ts";
import { createControllerFunction } from "#functions/parts/controller-function.ts";
import { connect } from "#kube/client/connect.ts";
import type { Transport } from "#kube/client/transport.ts";

/** The API server, cloud and function platform of the demo. */
export interface Stage {
  readonly plane: ControlPlane;
  readonly admin: Transport;
  readonly history: NodeHistory;
  readonly cloud: DemoCloud;
  readonly platform: DemoPlatform;
  startRelay(onLine: (line: LogLine) => void): Promise<ChildProgram>;
  close(): Promise<void>;
}

/** The choices for the stage. */
export interface StageOptions {
  readonly cloud: DemoCloudName;
  /**
   * Where the functions run: behind an Invoke API in this process, packaged on a local function platform, or over
   * HTTP in a process of their own.
   */
  readonly platform: DemoPlatform["kind"];
  /** The folder with kube-apiserver and etcd; without it the embedded API server runs. */
  readonly binaries: string | undefined;
}

/**
 * Fake names and keys: the endpoints are on this machine. Functions are invoked like Lambda functions,
 * whatever the cloud of the nodes.
 */
const AWS_ENVIRONMENT = {
  AWS_REGION: "eu-central-1",
  AWS_ACCESS_KEY_ID: "demo",
  AWS_SECRET_ACCESS_KEY: "demo",
  AWS_EC2_METADATA_DISABLED: "true",
};

/** Starts an API server, a cloud and a function platform, all on this machine. */
export async function setStage(options: StageOptions): Promise<Stage> {
  // Synchronous, so that no signal comes before the handler that removes the folder.
  const folder = mkdtempSync(join(tmpdir(), "serverless-ccm-demo-"));
  const { closing, close } = openSecretFolder(folder);
  try {
    const plane = closing(await startPlane(options.binaries, join(folder, "control-plane")));
    const cloud = closing(await startDemoCloud(options.cloud, folder));
    const environment = { ...AWS_ENVIRONMENT, ...cloud.environment };
    const clustersFile = join(folder, "clusters.yaml");
    await writeClustersFile(clustersFile, buildEntry(plane, cloud));
    const admin = closing(await connectAs(plane, "admin"));
    const functions = closing(await connectAs(plane, "node"));
    Object.assign(process.env, environment);
    const functionEnvironment = { ...environment, CLUSTERS_FILE: clustersFile };
    const starts: Readonly<Record<DemoPlatform["kind"], () => Promise<DemoPlatform>>> = {
      embedded: () =>
        startEmbeddedPlatform({
          clusters: readClustersFile(clustersFile),
          cloud: cloud.load(),
          api: functions,
        }),
      packaged: () => startPackagedPlatform(join(folder, "platform"), functionEnvironment),
      http: () => startHttpPlatform(functionEnvironment),
    };
    const platform = closing(await starts[options.platform]());
    const history = closing(await recordNodeHistory(admin));
    const relayEnvironment = { ...environment, ...platform.relayEnvironment };
    const flags = ["--clusters-file", clustersFile, ...platform.relayFlags, "--port", "0"];
    const startRelay = async (onLine: (line: LogLine) => void): Promise<ChildProgram> => {
      const relay = await startChildProgram({
        ...{ command: "relay", flags, environment: relayEnvironment, onLine },
      });
      closing({ close: () => relay.stop() });
      return relay;
    };
    return { plane, admin, history, cloud, platform, startRelay, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function startPlane(binaries: string | undefined, folder: string): Promise<ControlPlane> {
  if (binaries === undefined) return startEmbeddedControlPlane({ folder });
  const { startKubeApiserver } = await import("#emulators/harness/kube-apiserver.ts");
  const [kubeApiserver, etcd] = [join(binaries, "kube-apiserver"), join(binaries, "etcd")];
  return startKubeApiserver({ folder, binaries: { kubeApiserver, etcd } });
}

async function connectAs(plane: ControlPlane, user: "admin" | "node"): Promise<Transport> {
  const token = (await readFile(plane.tokenFile(user), "utf8")).trim();
  return connect({
    server: plane.server,
    certificateAuthority: await readFile(plane.certificateAuthorityFile, "utf8"),
    authorization: async () => `Bearer ${token}`,
  });
}

function buildEntry(plane: ControlPlane, { config }: DemoCloud): ClusterEntry {
  return buildClusterEntry(plane, {
    name: "demo",
    cloud: config,
    // The embedded platform has no other function: a relay is not ready while nodes wait for one that is missing.
    controllers: [nodeController.name],
    // The cloud account has no other cluster.
    limits: { floorShare: 0.25 },
  });
}

/** A function platform that can be switched off and on. */
interface DemoPlatform {
  readonly kind: "embedded" | "packaged" | "http";
  /** How the relay finds the functions. */
  readonly relayFlags: readonly string[];
  readonly relayEnvironment: Readonly<Record<string, string>>;
  /** Returns the walks of the batches so far, newest last; empty if the functions run in other processes. */
  walks(): readonly Walk[];
  turnOff(): Promise<void>;
  turnOn(): Promise<void>;
  close(): Promise<void>;
}

/** The dependencies of the functions of an embedded platform. */
interface EmbeddedPlatformOptions {
  readonly clusters: Clusters;
  readonly cloud: Cloud;
  readonly api: Transport;
}

/** Lambda's timeout of a function, and the concurrency of an account, as deployed. */
const TIMEOUT_MS = 30_000;

const CONCURRENCY = 1_000;

/** The number of walks that are kept: the demo prints the first. */
const MAX_WALKS = 10;

/** Starts Lambda's Invoke API in this process, with the functions' sources behind it. */
async function startEmbeddedPlatform(options: EmbeddedPlatformOptions): Promise<DemoPlatform> {
  const walks: Walk[] = [];
  const { cloud, take } = recordAnswers(options.cloud);
  const node = createControllerFunction(nodeController, {
    clusters: options.clusters,
    cloud: async () => cloud,
    api: async () => options.api,
    now: () => new Date(),
  });
  const server = await startLambda({
    functions: {
      "serverless-ccm-demo-node": async (event, context) => {
        const report = await node(event, context);
        const answers = take();
        if (walks.length < MAX_WALKS) walks.push(buildWalk(Event.parse(event), answers, report));
        return report;
      },
    },
    timeoutMs: TIMEOUT_MS,
    concurrency: CONCURRENCY,
  });
  return {
    kind: "embedded",
    ...buildLambdaAccess(server.url, "serverless-ccm-demo-"),
    walks: () => walks,
    turnOff: server.turnOff,
    turnOn: server.turnOn,
    close: async () => {
      await server.close();
      await cloud.close();
    },
  };
}

/** Starts the packaged functions of dist/ under serverless-offline. */
async function startPackagedPlatform(
  folder: string,
  environment: FunctionEnvironment,
): Promise<DemoPlatform> {
  const platform = await startFunctionPlatform({ folder, environment });
  return {
    kind: "packaged",
    ...buildLambdaAccess(platform.url, "serverless-ccm-dev-"),
    walks: () => [],
    turnOff: () => platform.stop("SIGKILL"),
    turnOn: platform.start,
    close: platform.close,
  };
}

function buildLambdaAccess(
  url: string,
  functionPrefix: string,
): Pick<DemoPlatform, "relayFlags" | "relayEnvironment"> {
  return {
    relayFlags: ["--function-prefix", functionPrefix],
    relayEnvironment: { AWS_ENDPOINT_URL_LAMBDA: url },
  };
}

/** Starts `serverless-ccm functions`, which keeps its port when it is switched off and on. */
async function startHttpPlatform(environment: Readonly<Record<string, string>>): Promise<DemoPlatform> {
  const port = await findFreePort();
  const start = (): Promise<ChildProgram> =>
    startChildProgram({
      ...{ command: "functions", environment, onLine: () => undefined },
      flags: ["--functions", "node", "--port", String(port)],
    });
  let running = await start();
  return {
    kind: "http",
    relayFlags: ["--platform", "http", "--function-url", `http://127.0.0.1:${port}/{function}`],
    relayEnvironment: {},
    walks: () => [],
    turnOff: () => running.kill(),
    async turnOn() {
      running = await start();
    },
    close: () => running.kill(),
  };
}
