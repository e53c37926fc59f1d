import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { LambdaContext } from "#emulators/lambda/server.ts";
import type { EnvironmentJob, EnvironmentResult } from "#test/platforms/contract/environment.ts";
import { type Counts, type FunctionProcess, listNodes } from "#test/platforms/contract/platform.ts";

/**
 * Execution environments as AWS Lambda has them: processes that share no memory, each with one invocation at a
 * time. An invocation gets an idle one, or waits for the start of another. Unlike Lambda's they are not frozen
 * between invocations.
 */
export interface Environments {
  /** Rejects with the function's error, or with `Runtime.ExitError` if the process ended. */
  invoke(functionName: string, event: unknown, context: LambdaContext): Promise<unknown>;
  findProcess(node: string): FunctionProcess | undefined;
  counts(): Counts;
  /** Ends the idle environments; busy ones end after their invocation. Later ones run the functions in `next`. */
  renew(next?: string): Promise<void>;
  close(): Promise<void>;
}

interface Environment extends FunctionProcess {
  readonly child: ChildProcess;
  readonly functionName: string;
  readonly generation: number;
  /** The nodes of the running invocation. */
  nodes: ReadonlySet<string>;
}

const PROGRAM = fileURLToPath(new URL("environment.ts", import.meta.url));

export interface EnvironmentsOptions {
  /** Contains `NAME/index.mjs` for each function. */
  readonly folder: string;
  /** Of the processes, in addition to the PATH. */
  readonly variables: Readonly<Record<string, string>>;
  /** A function's timeout, without the start of its environment. */
  readonly timeoutMs: number;
}

/** Creates no environment yet. */
export function createEnvironments(options: EnvironmentsOptions): Environments {
  const { variables, timeoutMs } = options;
  const idle: Environment[] = [];
  const all = new Set<Environment>();
  let { folder } = options;
  let generation = 0;
  let processes = 0;
  let invocations = 0;

  async function start(functionName: string): Promise<Environment> {
    const child = fork(PROGRAM, [join(folder, functionName, "index.mjs")], {
      env: { ...variables, PATH: process.env["PATH"] },
      execArgv: [],
      // A function logs each invocation.
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    const environment: Environment = {
      ...{ child, functionName, generation },
      nodes: new Set(),
      kill: () => void child.kill("SIGKILL"),
    };
    all.add(environment);
    processes += 1;
    child.once("exit", () => {
      all.delete(environment);
      const at = idle.indexOf(environment);
      if (at >= 0) idle.splice(at, 1);
    });
    await receive(child);
    return environment;
  }

  async function end(environment: Environment): Promise<void> {
    const { child } = environment;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  }

  return {
    async invoke(functionName, event, context) {
      const at = idle.findIndex((each) => each.functionName === functionName);
      const [found] = at < 0 ? [] : idle.splice(at, 1);
      const environment = found ?? (await start(functionName));
      invocations += 1;
      environment.nodes = listNodes(event);
      const job: EnvironmentJob = {
        event,
        awsRequestId: context.awsRequestId,
        functionName: context.functionName,
        deadline: Date.now() + timeoutMs,
      };
      const timer = setTimeout(() => void end(environment), timeoutMs);
      try {
        environment.child.send(job);
        const result = (await receive(environment.child)) as EnvironmentResult;
        if ("report" in result) return result.report;
        throw Object.assign(new Error(result.error.message), { name: result.error.name });
      } finally {
        clearTimeout(timer);
        environment.nodes = new Set();
        if (environment.generation !== generation) await end(environment);
        else if (all.has(environment)) idle.push(environment);
      }
    },
    findProcess: (node) => [...all].find(({ nodes }) => nodes.has(node)),
    counts: () => ({ processes, invocations }),
    async renew(next = folder) {
      folder = next;
      generation += 1;
      await Promise.all(idle.splice(0).map(end));
    },
    async close() {
      await Promise.all([...all].map(end));
    },
  };
}

/** Returns the next message; rejects as Lambda words it if the process ends before. */
async function receive(child: ChildProcess): Promise<unknown> {
  const settled = new AbortController();
  const { signal } = settled;
  const exited = once(child, "exit", { signal }).then(([code, reason]) => {
    const message = `Runtime exited with error: ${reason === null ? `exit status ${code}` : `signal: ${reason}`}`;
    throw Object.assign(new Error(message), { name: "Runtime.ExitError" });
  });
  try {
    const [message] = await Promise.race([once(child, "message", { signal }), exited]);
    return message;
  } finally {
    settled.abort();
  }
}
