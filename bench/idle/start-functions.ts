import { fileURLToPath } from "node:url";
import { awsEnvironment } from "#bench/contenders/process-contender.ts";
import { untilSaid } from "#bench/idle/until-said.ts";
import type { BenchStage } from "#bench/stage.ts";
import { freePort } from "#emulators/harness/free-port.ts";
import { startProcess } from "#emulators/harness/managed-process.ts";

/** What has to be ended again, last first. */
type Closer = () => Promise<unknown>;

const START_TIMEOUT_MS = 120_000;
const PLATFORM = fileURLToPath(new URL("../contenders/lambda-platform.ts", import.meta.url));

/** Starts the packaged functions, `slots` at a time where that is said; answers with the environment in which a relay finds them. */
export async function startFunctions(
  { ec2 }: Pick<BenchStage, "ec2">,
  clustersFile: string,
  closers: Closer[],
  slots?: number,
): Promise<Record<string, string>> {
  const port = await freePort();
  const environment = {
    ...awsEnvironment(ec2.url, ec2.region),
    CLUSTERS_FILE: clustersFile,
    AWS_ENDPOINT_URL_LAMBDA: `http://127.0.0.1:${port}`,
  };
  const words = [port, slots].filter((word) => word !== undefined).map(String);
  const platform = startProcess(process.execPath, [PLATFORM, ...words], { environment });
  closers.push(() => platform.stop("SIGKILL"));
  const isListening = (): boolean => platform.output().includes("listening");
  await untilSaid(platform, isListening, "the function platform", START_TIMEOUT_MS);
  return environment;
}
