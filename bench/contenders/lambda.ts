import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Contender, RunningContender, Situation } from "#bench/contenders/contender.ts";
import { buildAwsEnvironment, createRunningContender } from "#bench/contenders/process-contender.ts";
import { PROGRAM } from "#bench/contenders/run.ts";
import { CLUSTER_TAG } from "#bench/stage.ts";
import { DEFAULT_VPC_ID } from "#emulators/ec2/build-instance.ts";
import { buildClusterEntry, writeClustersFile } from "#emulators/harness/clusters-file.ts";
import { OUR_USERS } from "#emulators/harness/control-plane.ts";
import { findFreePort } from "#emulators/harness/free-port.ts";
import { type ManagedProcess, startProcess } from "#emulators/harness/managed-process.ts";

/** `serverless-ccm relay` and the packaged function, with Lambda's Invoke API between them. */
export const lambda = createLambdaContender("lambda", 1);

/** `lambda` with eight environments, of which each invocation gets one that is free, by chance. */
export const lambda8 = createLambdaContender("lambda-8", 8);

function createLambdaContender(name: "lambda" | "lambda-8", environments: number): Contender {
  const inEnvironments = environments === 1 ? "" : ` in ${environments} environments without shared memory`;
  return {
    name,
    title: `serverless-ccm relay, and the packaged function behind Lambda's Invoke API${inEnvironments}`,
    users: OUR_USERS,
    start: (situation) => startLambdaContender(situation, environments),
  };
}

async function startLambdaContender(
  { stage, isAnnounced }: Situation,
  environments: number,
): Promise<RunningContender> {
  const { plane, ec2, folder } = stage;
  const clustersFile = join(folder, "clusters.yaml");
  // An announcement reaches one environment; each looks at launches for itself.
  const sources = environments === 1 ? (["node-claims"] as const) : (["launches"] as const);
  const lookAhead = isAnnounced ? { nodes: { lookAhead: [...sources] } } : {};
  const cloud = { provider: "aws", region: ec2.region, vpc: DEFAULT_VPC_ID } as const;
  await writeClustersFile(clustersFile, buildClusterEntry(plane, { name: CLUSTER_TAG, cloud, ...lookAhead }));
  const port = await findFreePort();
  const environment = {
    ...buildAwsEnvironment(ec2.url, ec2.region),
    CLUSTERS_FILE: clustersFile,
    AWS_ENDPOINT_URL_LAMBDA: `http://127.0.0.1:${port}`,
  };
  const platform = startProcess(
    process.execPath,
    [PLATFORM, ...[port, environments, ACCOUNT_CONCURRENCY].map(String)],
    {
      environment,
    },
  );
  await waitUntilListening(platform);
  const relay = startProcess(
    process.execPath,
    [PROGRAM, "relay", `--clusters-file=${clustersFile}`, "--function-prefix=bench-", "--port=0"],
    { environment },
  );
  return createRunningContender([relay, platform]);
}

/** The default concurrency of an account. */
export const ACCOUNT_CONCURRENCY = 1_000;

const PLATFORM = fileURLToPath(new URL("lambda-platform.ts", import.meta.url));
const START_TIMEOUT_MS = 20_000;

async function waitUntilListening(platform: ManagedProcess): Promise<void> {
  const deadline = performance.now() + START_TIMEOUT_MS;
  while (!platform.output().includes("listening")) {
    if (platform.hasExited() || performance.now() > deadline) {
      await platform.stop("SIGKILL");
      throw new Error(`the function platform did not start: ${platform.output()}`);
    }
    await sleep(20);
  }
}
