import { type ChildProcess, spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expectLogLines } from "#test/log-lines.ts";

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

/** The output of a program that has ended. */
export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command line, or another program, to its end. */
export async function runProgram(
  flags: readonly string[],
  input = "",
  environment = {},
  program = MAIN,
): Promise<Ended> {
  const child = spawn(process.execPath, [program, ...flags], { env: { ...process.env, ...environment } });
  child.stdin.end(input);
  const code = new Promise<number | null>((resolve) => child.once("close", resolve));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await code, stdout, stderr };
}

/** A running program; its JSON log lines are passed on as they come. */
export interface Running {
  readonly child: ChildProcess;
  readonly lines: readonly Readonly<Record<string, unknown>>[];
  /** Resolves to the first line of that event; rejects if the program ends before. */
  line(event: string): Promise<Readonly<Record<string, unknown>>>;
  /** Sends the signal and resolves to the exit code; rejects if it has logged a malformed line. */
  end(signal: "SIGTERM" | "SIGKILL"): Promise<number | null>;
}

/** Starts the command line, from its sources or as built, and leaves it running; the caller ends it. */
export function startProgram(flags: readonly string[], environment = {}, program = MAIN): Running {
  const child = spawn(process.execPath, [program, ...flags], {
    env: { ...process.env, ...environment },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const lines: Record<string, unknown>[] = [];
  const waiting = new Set<() => void>();
  let rest = "";
  let ended = false;
  const exit = new Promise<number | null>((resolve) => {
    child.once("close", (code) => {
      ended = true;
      for (const look of waiting) look();
      resolve(code);
    });
  });
  child.stderr.on("data", (chunk: Buffer) => {
    const parts = (rest + chunk.toString("utf8")).split("\n");
    rest = parts.pop() ?? "";
    for (const part of parts) if (part.startsWith("{")) lines.push(JSON.parse(part));
    for (const look of waiting) look();
  });
  return {
    child,
    lines,
    line: (event) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const found = lines.find((line) => line["event"] === event);
          if (found === undefined && !ended) return;
          waiting.delete(look);
          if (found === undefined) reject(new Error(`the program ended before it said ${event}`));
          else resolve(found);
        };
        waiting.add(look);
        look();
      }),
    end: async (signal) => {
      child.kill(signal);
      const code = await exit;
      expectLogLines(lines);
      return code;
    },
  };
}
