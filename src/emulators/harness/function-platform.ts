import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { access, copyFile, mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { findFreePort } from "#emulators/harness/free-port.ts";
import { PROJECT_FOLDER } from "#emulators/harness/project-folder.ts";

/** The environment of handlers: the platform passes on only these variables. */
export type FunctionEnvironment = Readonly<
  Partial<Record<"CLUSTERS_FILE" | "OTEL_EXPORTER_OTLP_ENDPOINT" | `AWS_${string}`, string>>
>;

export interface FunctionPlatformOptions {
  /** For the platform's own files; created if missing, and removed by the caller after `close`. */
  readonly folder: string;
  readonly environment: FunctionEnvironment;
  /** Default or 0: any free one. */
  readonly port?: number;
  /** Further parameters of serverless.yml. Functions with a URL are invoked by name, too. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** The folder with serverless.yml, node_modules and the built zips in dist; default: these sources. */
  readonly project?: string;
}

/** A running function platform, which keeps its port over a restart. */
export interface FunctionPlatform {
  /** Base URL of the Lambda Invoke API, for AWS_ENDPOINT_URL_LAMBDA. */
  readonly url: string;
  /** Ends the platform and all running handlers; resolves when they are gone. */
  stop(signal?: "SIGTERM" | "SIGKILL"): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}

/** Milliseconds within which the platform must answer after its start. */
const START_TIMEOUT_MS = 60_000;

const SERVERLESS = "node_modules/serverless/bin/serverless.js";

/** Characters of output that are kept to explain a failed start. */
const MAX_OUTPUT = 4_000;

/**
 * Starts the packaged functions of serverless.yml under serverless-offline, on 127.0.0.1 and in its own
 * process group. Resolves once the Invoke API answers.
 */
export async function startFunctionPlatform(options: FunctionPlatformOptions): Promise<FunctionPlatform> {
  const project = options.project ?? PROJECT_FOLDER;
  await prepareFolder(options.folder, project);
  const port = options.port || (await findFreePort());
  const url = `http://127.0.0.1:${port}`;
  let child: ChildProcess | undefined;

  const stop = async (signal: "SIGTERM" | "SIGKILL" = "SIGKILL"): Promise<void> => {
    const running = child;
    child = undefined;
    if (running) await endGroup(running, signal);
  };
  const start = async (): Promise<void> => {
    if (child) return;
    // Only functions with a URL make it listen there.
    child = spawnPlatform(options, project, port, await findFreePort());
    try {
      await waitUntilAnswering(url, child);
    } catch (error) {
      await stop("SIGKILL");
      throw error;
    }
  };
  await start();
  return { url, start, stop, close: () => stop("SIGKILL") };
}

// The platform unpacks the zips next to its serverless.yml; in its own folder it leaves nothing in the
// sources.
async function prepareFolder(folder: string, project: string): Promise<void> {
  for (const needed of ["serverless.yml", "dist", SERVERLESS]) {
    await access(join(project, needed)).catch((cause: unknown) => {
      const message = `the packaged functions need a checkout with \`npm ci\` and \`npm run build\` done: there is no ${join(project, needed)}`;
      throw new Error(message, { cause });
    });
  }
  await mkdir(folder, { recursive: true });
  await copyFile(join(project, "serverless.yml"), join(folder, "serverless.yml"));
  for (const name of ["node_modules", "build", "dist"]) {
    await symlink(join(project, name), join(folder, name)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
  }
}

function spawnPlatform(
  options: FunctionPlatformOptions,
  project: string,
  port: number,
  urlPort: number,
): ChildProcess {
  const { CLUSTERS_FILE, OTEL_EXPORTER_OTLP_ENDPOINT, ...environment } = options.environment;
  const args = [
    join(project, SERVERLESS),
    "offline",
    "start",
    "--host",
    "127.0.0.1",
    "--lambdaPort",
    String(port),
    "--httpPort",
    String(urlPort),
    "--noSponsor",
    // The caller invokes functions itself; otherwise the platform would invoke the sweep every minute.
    "--param",
    "sweepEveryMinute=false",
  ];
  if (CLUSTERS_FILE !== undefined) args.push("--param", `clustersFile=${CLUSTERS_FILE}`);
  if (OTEL_EXPORTER_OTLP_ENDPOINT !== undefined)
    args.push("--param", `otlpEndpoint=${OTEL_EXPORTER_OTLP_ENDPOINT}`);
  for (const [name, value] of Object.entries(options.parameters ?? {}))
    args.push("--param", `${name}=${value}`);
  const child = spawn(process.execPath, args, {
    cwd: options.folder,
    // None of the caller's own AWS settings pass.
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], ...environment },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  // A process group outlives its parent, unless the parent ends it.
  const endWithParent = (): void => signalGroup(child, "SIGKILL");
  process.once("exit", endWithParent);
  child.once("exit", () => process.off("exit", endWithParent));
  return child;
}

async function waitUntilAnswering(url: string, child: ChildProcess): Promise<void> {
  let output = "";
  const keep = (chunk: Buffer): void => {
    output = (output + chunk.toString("utf8")).slice(-MAX_OUTPUT);
  };
  child.stdout?.on("data", keep);
  child.stderr?.on("data", keep);
  const deadline = performance.now() + START_TIMEOUT_MS;
  while (performance.now() < deadline) {
    if (child.exitCode !== null || child.signalCode !== null) {
      throw new Error(`serverless offline ended before it was ready:\n${output}`);
    }
    if (await isInvokeApi(url)) return;
    await sleep(50);
  }
  throw new Error(`serverless offline did not answer at ${url} within ${START_TIMEOUT_MS} ms:\n${output}`);
}

/** Invokes a missing function: only the Invoke API returns its error, and nothing runs. */
async function isInvokeApi(url: string): Promise<boolean> {
  try {
    const path = "/2015-03-31/functions/no-such-function/invocations";
    const response = await fetch(url + path, {
      method: "POST",
      body: "{}",
      signal: AbortSignal.timeout(1_000),
    });
    await response.arrayBuffer();
    return response.headers.get("x-amzn-errortype") === "ResourceNotFoundException";
  } catch {
    return false;
  }
}

async function endGroup(child: ChildProcess, signal: "SIGTERM" | "SIGKILL"): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  signalGroup(child, signal);
  await exited;
}

function signalGroup(child: ChildProcess, signal: "SIGTERM" | "SIGKILL"): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, signal);
  } catch {
    // The process is gone already.
  }
}
