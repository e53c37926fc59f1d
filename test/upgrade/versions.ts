import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type ManagedProcess, startProcess } from "#emulators/harness/managed-process.ts";
import { getSystemCode } from "#kube/client/errors.ts";
import type { Build } from "#test/upgrade/builds.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

/** A relay or the functions of one version. */
export interface Running {
  readonly build: Build;
  stop(): Promise<void>;
}

/** A stage: a name of functions, a port for their invocations, and a file of clusters. */
export interface StageOfFunctions {
  readonly prefix: string;
  readonly invokePort: number;
  readonly relayPort: number;
  readonly clustersFile: string;
  /** The folder for the relays' logs and the functions' requests and answers. */
  readonly logs: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** An invocation: the event of a function and its answer. */
export interface Exchange {
  readonly name: string;
  readonly event: Readonly<Record<string, unknown>>;
  readonly report?: Readonly<Record<string, unknown>>;
  readonly error?: string;
}

const HOST = fileURLToPath(new URL("function-host.ts", import.meta.url));

/** Starts the functions of a version on the port of the stage. */
export async function startVersionFunctions(build: Build, stage: StageOfFunctions): Promise<Running> {
  const args = [HOST, build.folder, stage.prefix, String(stage.invokePort), exchangesOf(stage)];
  const environment = { ...process.env, ...stage.environment, CLUSTERS_FILE: stage.clustersFile };
  const host = startProcess(process.execPath, args, { environment });
  await begun(host, () => host.output().includes("listening on"));
  return { build, stop: () => host.stop("SIGTERM") };
}

/** Starts the relay of a version for the clusters of the stage, and waits until it is ready. */
export async function startVersionRelay(build: Build, stage: StageOfFunctions): Promise<Running> {
  const url = `http://127.0.0.1:${stage.invokePort}`;
  const flags = ["--clusters-file", stage.clustersFile, "--function-prefix", stage.prefix];
  const relay = startProcess(
    process.execPath,
    [build.program, "relay", ...flags, "--port", String(stage.relayPort)],
    {
      environment: { ...process.env, ...stage.environment, AWS_ENDPOINT_URL_LAMBDA: url },
      logFile: relayLogOf(stage),
    },
  );
  await begun(relay, async () => {
    const answer = await fetch(`http://127.0.0.1:${stage.relayPort}/readyz`).catch(() => undefined);
    return answer?.ok === true;
  });
  return { build, stop: () => relay.stop("SIGTERM") };
}

/** Whether the stage's relay follows a cluster and is ready for it. */
export async function isFollowed({ relayPort }: StageOfFunctions, cluster: string): Promise<boolean> {
  const answer = await fetch(`http://127.0.0.1:${relayPort}/readyz/clusters/${cluster}`).catch(
    () => undefined,
  );
  return answer?.ok === true;
}

/** Returns all invocations of the stage so far, of all versions. */
export async function listExchanges(stage: StageOfFunctions): Promise<Exchange[]> {
  const lines = (await textOf(exchangesOf(stage))).split("\n").filter((line) => line !== "");
  return lines.map((line) => JSON.parse(line) as Exchange);
}

/** Returns the lines of the relays' logs with errors. */
export async function listErrors(stage: StageOfFunctions): Promise<string[]> {
  const lines = (await textOf(relayLogOf(stage))).split("\n");
  return lines.filter((line) => line.includes('"level":"error"'));
}

const exchangesOf = ({ logs, prefix }: StageOfFunctions): string => join(logs, `${prefix}exchanges.jsonl`);
const relayLogOf = ({ logs, prefix }: StageOfFunctions): string => join(logs, `${prefix}relay.log`);

/** The file does not exist before the first version runs. */
async function textOf(file: string): Promise<string> {
  return readFile(file, "utf8").catch((error: unknown) => {
    if (getSystemCode(error) === "ENOENT") return "";
    throw error;
  });
}

async function begun(child: ManagedProcess, isReady: () => boolean | Promise<boolean>): Promise<void> {
  await waitUntilTrue("a version to start", async () => child.hasExited() || (await isReady()), 60_000);
  if (child.hasExited()) throw new Error(`a version ended before it was ready: ${child.output()}`);
}
