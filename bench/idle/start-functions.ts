import { fileURLToPath } from "node:url";
import { ACCOUNT_CONCURRENCY } from "#bench/contenders/lambda.ts";
import { buildAwsEnvironment } from "#bench/contenders/process-contender.ts";
import { waitForOutput } from "#bench/idle/wait-for-output.ts";
import type { BenchStage } from "#bench/stage.ts";
import { findFreePort } from "#emulators/harness/free-port.ts";
import { startProcess } from "#emulators/harness/managed-process.ts";

/** Ends something that was started; called last first. */
type Closer = () => Promise<unknown>;

const START_TIMEOUT_MS = 120_000;
const PLATFORM = fileURLToPath(new URL("../contenders/lambda-platform.ts", import.meta.url));

/**
 * Starts the packaged functions, at most `concurrency` at a time, and returns the environment with which a relay
 * finds them.
 */
export async function startFunctions(
  { ec2 }: Pick<BenchStage, "ec2">,
  clustersFile: string,
  closers: Closer[],
  concurrency = ACCOUNT_CONCURRENCY,
): Promise<Record<string, string>> {
  const port = await findFreePort();
  const environment = {
    ...buildAwsEnvironment(ec2.url, ec2.region),
    CLUSTERS_FILE: clustersFile,
    AWS_ENDPOINT_URL_LAMBDA: `http://127.0.0.1:${port}`,
  };
  const platform = startProcess(process.execPath, [PLATFORM, ...[port, 1, concurrency].map(String)], {
    environment,
  });
  closers.push(() => platform.stop("SIGKILL"));
  const isListening = (): boolean => platform.output().includes("listening");
  await waitForOutput(platform, isListening, "the function platform", START_TIMEOUT_MS);
  return environment;
}
