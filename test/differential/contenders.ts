import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { buildAwsEnvironment } from "#bench/contenders/process-contender.ts";
import { findFreePort } from "#emulators/harness/free-port.ts";
import { buildIdentityFlags } from "#emulators/harness/identity-flags.ts";
import type { KubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import { startProcess } from "#emulators/harness/managed-process.ts";
import { startProgram } from "#test/cli/program.ts";
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

/** Returns a start of the stock controller, with all its controllers but the one of routes. */
export function createStockStart(program: string): StartContender {
  return async ({ folder, plane, url, network: { vpc, subnets } }) => {
    await writeStock(folder, plane, [
      `Zone = ${REGION}a`,
      `VPC = ${vpc}`,
      `SubnetID = ${subnets[0]}`,
      `KubernetesClusterID = ${CLUSTER}`,
    ]);
    const logFile = join(folder, `stock-${performance.now()}.log`);
    const running = startProcess(
      program,
      [
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
      ],
      { environment: createEnvironment(url), logFile },
    );
    const started = async (): Promise<boolean> => {
      if (running.hasExited()) throw new Error(`the stock controller ended: ${running.output()}`);
      return (await readText(logFile).catch(() => "")).includes("Starting service controller");
    };
    await waitUntil("the stock controller to start", started, 60_000);
    return {
      failure: () => (running.hasExited() ? `the stock controller ended: ${running.output()}` : undefined),
      said: () => readText(logFile),
      stop: () => running.stop("SIGKILL"),
    };
  };
}

/** Starts `serverless-ccm run` from its sources, with the same controllers and the identities of infra/rbac. */
export const startOurs: StartContender = async ({ folder, plane, url, network: { vpc } }) => {
  const cloudConfig = join(folder, "cloud.yaml");
  await writeFile(cloudConfig, `region: ${REGION}\nvpc: ${vpc}\nclusterTag: ${CLUSTER}\n`);
  const running = startProgram(
    [
      ...["run", "--cloud-provider", "aws", "--cloud-config", cloudConfig, "--cluster-name", CLUSTER],
      ...["--controllers", "*,service-lb-controller", "--port", "0"],
      ...["--node-status-update-frequency", STATUS_FREQUENCY],
      ...(await buildIdentityFlags(plane)),
    ],
    createEnvironment(url),
  );
  await running.line("Listed");
  return {
    failure: () => (running.child.exitCode === null ? undefined : "serverless-ccm run ended"),
    said: async () => running.lines.map((line) => JSON.stringify(line)).join("\n"),
    stop: async () => void (await running.end("SIGTERM")),
  };
};

function createEnvironment(url: string): Readonly<Record<string, string | undefined>> {
  return { ...buildAwsEnvironment(url, REGION), AWS_ENDPOINT_URL: url };
}
