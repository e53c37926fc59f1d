import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

/** A line of a program's log. */
export type LogLine = Readonly<Record<string, unknown>>;

/** A relay, or functions over HTTP, in a process of its own, so that the demo can kill it like a lost machine. */
export interface ChildProgram {
  /** The URL that it serves, with /readyz. */
  readonly url: string;
  /** Sends SIGKILL: nothing is drained, nothing is saved. */
  kill(): Promise<void>;
  /** Sends SIGTERM: what is in flight finishes. */
  stop(): Promise<void>;
}

export interface ChildProgramOptions {
  readonly command: "relay" | "functions";
  /** Flags after the command. */
  readonly flags: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly onLine: (line: LogLine) => void;
}

/** The time limits of a program for its start and its end, in milliseconds. */
const START_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 20_000;

/** Starts `serverless-ccm COMMAND` from this program and waits until it is ready. */
export async function startChildProgram(options: ChildProgramOptions): Promise<ChildProgram> {
  const { command } = options;
  const [program] = process.argv.slice(1, 2);
  if (program === undefined)
    throw new Error(`the demo starts its ${command} from its own program, which is unknown`);
  const child = spawn(process.execPath, [program, command, ...options.flags], {
    env: { ...process.env, ...options.environment },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const endWithParent = (): void => void child.kill("SIGKILL");
  process.once("exit", endWithParent);
  void exited.then(() => process.off("exit", endWithParent));

  const lastWords: string[] = [];
  const url = await new Promise<string>((resolve, reject) => {
    const timer = setTimeout(() => fail("was not ready in time"), START_TIMEOUT_MS);
    const fail = (what: string): void => {
      clearTimeout(timer);
      child.kill("SIGKILL");
      reject(new Error(`${command} ${what}: ${lastWords.join(" | ")}`));
    };
    void exited.then(() => fail("ended by itself"));
    createInterface({ input: child.stderr }).on("line", (text) => {
      lastWords.push(text.slice(0, 500));
      if (lastWords.length > 5) lastWords.shift();
      const line = parseLine(text);
      if (line === undefined) return;
      options.onLine(line);
      if (line["event"] === "Serving" && typeof line["url"] === "string") {
        clearTimeout(timer);
        resolve(line["url"]);
      }
    });
  });
  const end = async (signal: "SIGKILL" | "SIGTERM"): Promise<void> => {
    child.kill(signal);
    const timer = setTimeout(() => child.kill("SIGKILL"), STOP_TIMEOUT_MS);
    await exited;
    clearTimeout(timer);
  };
  try {
    await waitUntilReady(url);
  } catch (error) {
    await end("SIGKILL");
    throw error;
  }
  return { url, kill: () => end("SIGKILL"), stop: () => end("SIGTERM") };
}

async function waitUntilReady(url: string): Promise<void> {
  const deadline = performance.now() + START_TIMEOUT_MS;
  while (performance.now() < deadline) {
    const answer = await fetch(`${url}/readyz`).catch(() => undefined);
    if (answer?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`${url} was not ready within ${START_TIMEOUT_MS / 1000} s`);
}

function parseLine(text: string): LogLine | undefined {
  try {
    const line: unknown = JSON.parse(text);
    return line !== null && typeof line === "object" ? { ...line } : undefined;
  } catch {
    return undefined;
  }
}
