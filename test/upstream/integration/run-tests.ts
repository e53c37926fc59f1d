import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { startProcess } from "#emulators/harness/managed-process.ts";
import type { TestBinary } from "#test/upstream/integration/build.ts";

/** What a test binary printed. */
export interface TestRun {
  /** `passed`, `failed` or `skipped` by the test's name, in the order in which they began. */
  readonly outcomes: ReadonlyMap<string, string>;
  /** The messages of the tests, by the line of their source. */
  readonly messages: readonly string[];
  readonly exitCode: number | NodeJS.Signals;
}

export interface RunTestsOptions {
  /** Runs only the tests of these names, with all their subtests. */
  readonly only?: readonly string[] | undefined;
  readonly etcd: string;
  /** For logs and all temporary files. */
  readonly folder: string;
  /** The file in `folder` for the output of the tests. */
  readonly log: string;
}

/** The time limit of one test binary. */
const LIMIT_MINUTES = 10;

/** Our CLI, with the cloud of the Go test. */
const PROGRAM = fileURLToPath(new URL("program.ts", import.meta.url));

/** The objects that an operator creates in a cluster. */
const STATE = fileURLToPath(new URL("../../../infra/state", import.meta.url));

/** Runs the tests of a binary, each with an API server of its own. Rejects if they do not end in time. */
export async function runTests(binary: TestBinary, options: RunTestsOptions): Promise<TestRun> {
  const { only, etcd, folder } = options;
  const logFile = join(folder, options.log);
  const selected = only === undefined ? [] : [`-test.run=^(${only.join("|")})$`];
  const running = startProcess(
    binary.path,
    ["-test.v", `-test.timeout=${LIMIT_MINUTES}m`, "-test.count=1", ...selected],
    {
      folder: binary.folder,
      logFile,
      environment: {
        ...process.env,
        PATH: `${dirname(etcd)}:${process.env["PATH"] ?? ""}`,
        TMPDIR: folder,
        // Nothing listens at this port, so the tests start an etcd of their own.
        KUBE_INTEGRATION_ETCD_URL: "http://127.0.0.1:1",
        UPSTREAM_NODE: process.execPath,
        UPSTREAM_PROGRAM: PROGRAM,
        UPSTREAM_STATE: STATE,
        UPSTREAM_LOG: join(folder, "serverless-ccm.log"),
      },
    },
  );
  let isTooSlow = false;
  // Go's own limit covers the tests; this one covers what they do when they have ended.
  const timer = setTimeout(
    () => {
      isTooSlow = true;
      void running.stop("SIGKILL");
    },
    2 * LIMIT_MINUTES * 60_000,
  );
  const exitCode = await running.exited;
  clearTimeout(timer);
  if (isTooSlow) throw new Error(`the tests did not end within ${2 * LIMIT_MINUTES} minutes: see ${logFile}`);
  return { ...parseOutput(await readFile(logFile, "utf8")), exitCode };
}

const OUTCOMES: Readonly<Record<string, string>> = { PASS: "passed", FAIL: "failed", SKIP: "skipped" };

/** Parses the output of `go test -v`. A test that began and did not end counts as "did not end". */
export function parseOutput(output: string): Omit<TestRun, "exitCode"> {
  const outcomes = new Map<string, string>();
  const messages: string[] = [];
  for (const line of output.split("\n")) {
    const [, begun] = /^=== RUN +(\S+)$/.exec(line) ?? [];
    if (begun !== undefined) outcomes.set(begun, "did not end");
    const [, outcome = "", ended] = /^ *--- (PASS|FAIL|SKIP): (\S+) \(/.exec(line) ?? [];
    if (ended !== undefined) outcomes.set(ended, OUTCOMES[outcome] ?? outcome);
    else if (/^ *\w+_test\.go:\d+: |^panic: /.test(line)) messages.push(line.trim());
  }
  return { outcomes, messages };
}
