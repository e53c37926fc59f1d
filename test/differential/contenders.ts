import { writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { buildAwsEnvironment } from "#bench/contenders/process-contender.ts";
import { findFreePort } from "#emulators/harness/free-port.ts";
import { buildIdentityFlags } from "#emulators/harness/identity-flags.ts";
import type { KubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import { startProcess } from "#emulators/harness/managed-process.ts";
import { PROJECT_FOLDER } from "#emulators/harness/project-folder.ts";
import { REGION } from "#test/clouds/aws/moto/clients.ts";
import type { Network } from "#test/clouds/aws/moto/make-network.ts";
import { buildStockFlags, CLUSTER, readText, waitUntil, writeStock } from "#test/handover/stage.ts";

/** A running cloud-controller-manager. */
export interface Contender {
  /** Returns why it no longer runs; undefined while it runs. */
  failure(): string | undefined;
  /** Returns its log. */
  said(): Promise<string>;
  stop(): Promise<void>;
}

/** Where a contender starts: its own cluster and cloud. */
export interface ContenderPlace {
  readonly folder: string;
  readonly plane: KubeApiserver;
  /** The endpoint of the cloud. */
  readonly url: string;
  readonly network: Network;
}

export type StartContender = (place: ContenderPlace) => Promise<Contender>;

/** How often both compare the addresses of initialized nodes: five minutes by default. */
const STATUS_FREQUENCY = "5s";

/** Returns a start of the stock controller, with all its controllers but those of routes and tags. */
export function createStockStart(program: string): StartContender {
  return async ({ folder, plane, url, network: { vpc, subnets } }) => {
    await writeStock(folder, plane, [
      `Zone = ${REGION}a`,
      `VPC = ${vpc}`,
      `SubnetID = ${subnets[0]}`,
      `KubernetesClusterID = ${CLUSTER}`,
    ]);
    const flags = [
      "--cloud-provider=aws",
      `--cluster-name=${CLUSTER}`,
      "--controllers=cloud-node-controller,cloud-node-lifecycle-controller,service-lb-controller",
      "--configure-cloud-routes=false",
      "--leader-elect=false",
      "--concurrent-node-syncs=5",
      "--concurrent-service-syncs=5",
      `--node-status-update-frequency=${STATUS_FREQUENCY}`,
      "--kube-api-qps=200",
      "--kube-api-burst=400",
      "--bind-address=127.0.0.1",
      `--secure-port=${await findFreePort()}`,
      ...buildStockFlags(folder),
    ];
    return start(program, flags, { folder, url, startedText: "Starting service controller" });
  };
}

/** Starts `serverless-ccm run` from its sources, with the same controllers and the identities of infra/rbac. */
export const startOurs: StartContender = async ({ folder, plane, url, network: { vpc } }) => {
  const cloudConfig = join(folder, "cloud.yaml");
  await writeFile(cloudConfig, `region: ${REGION}\nvpc: ${vpc}\nclusterTag: ${CLUSTER}\n`);
  const flags = [
    ...[MAIN, "run", "--cloud-provider", "aws", "--cloud-config", cloudConfig, "--cluster-name", CLUSTER],
    ...["--controllers", "*,service-lb-controller", "--port", "0"],
    ...["--node-status-update-frequency", STATUS_FREQUENCY],
    ...(await buildIdentityFlags(plane)),
  ];
  return start(process.execPath, flags, { folder, url, startedText: '"event":"Listed"' });
};

const MAIN = join(PROJECT_FOLDER, "src/cli/main.ts");

interface StartOptions {
  readonly folder: string;
  readonly url: string;
  /** What the log says when the contender is ready. */
  readonly startedText: string;
}

const START_TIMEOUT_MS = 120_000;

async function start(
  program: string,
  flags: readonly string[],
  { folder, url, startedText }: StartOptions,
): Promise<Contender> {
  const logFile = join(folder, `contender-${performance.now()}.log`);
  const environment = { ...buildAwsEnvironment(url, REGION), AWS_ENDPOINT_URL: url };
  const running = startProcess(program, flags, { environment, logFile });
  const failure = (): string | undefined =>
    running.hasExited() ? `${basename(program)} ended: ${running.output()}` : undefined;
  const hasStarted = async (): Promise<boolean> => {
    const ended = failure();
    if (ended !== undefined) throw new Error(ended);
    return (await readText(logFile).catch(() => "")).includes(startedText);
  };
  await waitUntil(`${basename(program)} to start`, hasStarted, START_TIMEOUT_MS);
  return { failure, said: () => readText(logFile), stop: () => running.stop("SIGKILL") };
}
