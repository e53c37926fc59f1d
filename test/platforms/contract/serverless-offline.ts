import { copyFile, mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { startFunctionPlatform } from "#emulators/harness/function-platform.ts";
import { PROJECT_FOLDER } from "#emulators/harness/project-folder.ts";
import { FUNCTION_TIMEOUT_MS } from "#platforms/invoker.ts";
import { createLambdaInvoker } from "#platforms/lambda/invoker.ts";
import { startInvocationGate } from "#test/platforms/contract/http-gate.ts";
import { buildRelayEnvironment, UNAVAILABLE } from "#test/platforms/contract/lambda.ts";
import {
  FUNCTION,
  type FunctionProcess,
  listNodes,
  type PlatformOptions,
  type PlatformUnderTest,
  type RunningPlatform,
} from "#test/platforms/contract/platform.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

const CHECKS_NO_SIGNATURE = "it checks no signature";
const ONE_VERSION = "it ends running invocations when it gets another version";

/** The packaged functions under serverless-offline, in worker threads of one process. */
export const serverlessOffline: PlatformUnderTest = {
  name: "serverless-offline",
  title: "The zips of AWS Lambda under serverless-offline, whose worker threads run them in one process",
  skipped: {
    throttled: "it has no limit of concurrent invocations",
    "rolled over to the same version": ONE_VERSION,
    "rolled over from N−1 to N, relay N−1": ONE_VERSION,
    "rolled over from N−1 to N, relay N": ONE_VERSION,
    "rolled back from N to N−1, relay N": ONE_VERSION,
    "rolled back from N to N−1, relay N−1": ONE_VERSION,
    unauthenticated: CHECKS_NO_SIGNATURE,
    "for another audience": CHECKS_NO_SIGNATURE,
    unauthorized: CHECKS_NO_SIGNATURE,
  },
  start,
};

const PREFIX = "serverless-ccm-dev-";
const KEY = { accessKeyId: "test", secretAccessKey: "test" };

async function start(options: PlatformOptions): Promise<RunningPlatform> {
  const { folder, clustersFile, environment, build } = options;
  const project = join(folder, "project");
  await mkdir(project);
  await copyFile(join(PROJECT_FOLDER, "serverless.yml"), join(project, "serverless.yml"));
  for (const name of ["node_modules", "build"])
    await symlink(join(PROJECT_FOLDER, name), join(project, name));
  await symlink(build.folder, join(project, "dist"));
  const platform = await startFunctionPlatform({
    project,
    folder: join(folder, "serverless-offline"),
    environment: { ...environment, CLUSTERS_FILE: clustersFile },
  });
  let processes = 1;
  let running: Promise<void> | undefined = Promise.resolve();
  let stopping: Promise<void> = Promise.resolve();
  const stop = (): Promise<void> => {
    running = undefined;
    stopping = platform.stop("SIGKILL");
    return stopping;
  };
  /** A new value for each start. */
  let current = createProcess();
  function createProcess(): FunctionProcess {
    return { kill: () => void stop() };
  }
  /** Starts it again on the first request after its end. */
  const startOnDemand = async (): Promise<string> => {
    if (running === undefined) {
      processes += 1;
      current = createProcess();
      running = stopping.then(platform.start);
    }
    await running;
    return platform.url;
  };
  const gate = await startInvocationGate({ target: startOnDemand, refusal: UNAVAILABLE });
  const invoker = createLambdaInvoker({
    functionName: () => PREFIX + FUNCTION,
    functionTimeoutMs: FUNCTION_TIMEOUT_MS,
    maxInFlight: 10,
    client: { endpoint: gate.url, region: "eu-central-1", credentials: KEY },
  });
  return {
    ...gate,
    relay: () => ({
      flags: ["relay", "--clusters-file", clustersFile, "--function-prefix", PREFIX],
      environment: buildRelayEnvironment(gate.url, KEY),
    }),
    invoke: (event) => invoker.invoke(event, new AbortController().signal),
    findProcess(node) {
      const isRunning = gate
        .listForwarded()
        .some(({ body }) => listNodes(JSON.parse(body.toString())).has(node));
      return isRunning && running !== undefined ? current : undefined;
    },
    counts: () => ({ processes, invocations: gate.countInvocations() }),
    async scaleToZero() {
      await waitUntilTrue("invocations to end", () => gate.listForwarded().length === 0);
      await stop();
    },
    rollOver: () => Promise.reject(new Error(ONE_VERSION)),
    close: async () => {
      await gate.close();
      await invoker.close();
      await running;
      await platform.close();
    },
  };
}
