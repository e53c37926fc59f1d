import { spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Exchange, RECORDING_FOLDER } from "#test/vendor-models/recording/exchange.ts";

/** Longer than the suites of one cloud take on a busy machine; alone they take a minute. */
const TIMEOUT_MS = 570_000;

/** The time limit of a hook that records. */
export const RECORDING_TIMEOUT_MS = 600_000;

/**
 * Runs test files, named by their paths or the beginnings of them, and returns every exchange with the
 * emulated clouds, each once. Rejects if one of the tests fails.
 */
export async function recordSuites(paths: readonly string[]): Promise<readonly Exchange[]> {
  const folder = await mkdtemp(join(tmpdir(), "exchanges-"));
  try {
    await runVitest(paths, folder);
    const files = await readdir(folder);
    const texts = await Promise.all(files.map((file) => readFile(join(folder, file), "utf8")));
    return texts
      .flatMap((text) => text.split("\n").filter((line) => line !== ""))
      .map((line) => JSON.parse(line));
  } finally {
    // Workers of a run that was ended may still write.
    await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  }
}

async function runVitest(paths: readonly string[], folder: string): Promise<void> {
  const vitest = join(dirname(createRequire(import.meta.url).resolve("vitest/package.json")), "vitest.mjs");
  const root = fileURLToPath(new URL("../../..", import.meta.url));
  // A vitest takes the variables of the one around it for its own.
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("VITEST"));
  const child = spawn(
    process.execPath,
    [vitest, "run", "--config", "test/vendor-models/recording/vitest.config.ts", ...paths],
    {
      cwd: root,
      env: { ...Object.fromEntries(inherited), [RECORDING_FOLDER]: folder },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: TIMEOUT_MS,
    },
  );
  let output = "";
  const keep = (chunk: Buffer): void => {
    output = (output + chunk.toString("utf8")).slice(-MAX_OUTPUT);
  };
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);
  await new Promise<void>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => {
      if (code === 0) resolve();
      else
        reject(new Error(`the recorded run of ${paths.join(", ")} ended with ${code ?? signal}:\n${output}`));
    });
  });
}

/** The characters of output that are kept to explain a failure. */
const MAX_OUTPUT = 8_000;
