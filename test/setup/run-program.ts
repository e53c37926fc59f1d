import { spawn } from "node:child_process";

/** Runs a program to its end; on failure rejects with the end of its output. */
export async function runProgram(
  program: string,
  args: readonly string[],
  options: { readonly folder?: string } = {},
): Promise<void> {
  const child = spawn(program, args, {
    ...(options.folder === undefined ? {} : { cwd: options.folder }),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const endWithParent = (): void => void child.kill("SIGKILL");
  process.once("exit", endWithParent);
  let output = "";
  const keep = (chunk: Buffer): void => {
    output = (output + chunk.toString("utf8")).slice(-MAX_OUTPUT);
  };
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);
  try {
    await new Promise<void>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code, signal) => {
        if (code === 0) resolve();
        else reject(new Error(`${program} ${args[0] ?? ""} ended with ${code ?? signal}:\n${output}`));
      });
    });
  } finally {
    process.off("exit", endWithParent);
  }
}

/** The characters of output that are kept to explain a failure. */
const MAX_OUTPUT = 2_000;
