import { createHash } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findProgram } from "#test/setup/find-program.ts";
import { getCacheFolder, makeOnce } from "#test/setup/make-once.ts";
import type { Part } from "#test/setup/parts.ts";
import { runProgram } from "#test/setup/run-program.ts";

/** A Go module at a version, with its hash in a go.sum of this repository. */
export interface PinnedModule {
  readonly module: string;
  readonly version: string;
  readonly sum: string;
}

/** A test function of a module, and what is recorded of each of its cases. */
export interface RecordedTest {
  /** The path in the module. */
  readonly file: string;
  readonly test: string;
  /** The variable of the table's loop; without it, each statement that calls `call` is a case. */
  readonly loop?: string;
  /** Whether every loop with that variable is a table; by default the first one. */
  readonly everyLoop?: true;
  readonly call?: string;
  /** Go expressions by name, evaluated at the start of each case. */
  readonly values: Readonly<Record<string, string>>;
}

/** The cases of a module's tests, whose own test has passed. */
export interface RecordedCases {
  /** Returns the values of each case of a test, in its order. */
  casesOf(test: string): readonly Readonly<Record<string, unknown>>[];
}

/** The output of `extract/main.go`. */
interface Extraction {
  readonly passed: Readonly<Record<string, boolean>>;
  readonly cases: readonly { readonly test: string; readonly values: Readonly<Record<string, unknown>> }[];
}

const EXTRACT = fileURLToPath(new URL("extract", import.meta.url));

/** Returns the module at the version that a go.mod and go.sum of this repository name. */
export async function readPinnedModule(module: string, folder: URL): Promise<PinnedModule> {
  const text = await readFile(new URL("go.sum", folder), "utf8");
  const lines = text.split("\n").map((line) => line.split(" "));
  const [found] = lines.filter(([name, version]) => name === module && !version?.endsWith("/go.mod"));
  const [, version, sum] = found ?? [];
  if (version === undefined || sum === undefined)
    throw new Error(`${fileURLToPath(new URL("go.sum", folder))} has no hash of ${module}`);
  return { module, version, sum };
}

/**
 * Runs tests of a module once in a copy of it, and returns what their tables contain. Missing without Go.
 * Rejects if a test fails upstream, because its cases are no expectation then.
 */
export async function recordCases(
  pinned: PinnedModule,
  tests: readonly RecordedTest[],
  say: (line: string) => void,
): Promise<Part<RecordedCases>> {
  if ((await findProgram("go")) === undefined)
    return { kind: "missing", because: `install Go: it runs the tests of ${pinned.module}` };
  const plan = JSON.stringify({ ...pinned, tests });
  const hash = createHash("sha256").update(plan);
  for (const file of ["main.go", "recorder.go.txt"]) hash.update(await readFile(join(EXTRACT, file)));
  const folder = join(getCacheFolder(), "upstream-tables", hash.digest("hex").slice(0, 16));
  await makeOnce(folder, async (temporary) => {
    say(`running tests of ${pinned.module} ${pinned.version} with Go, once (a minute) …`);
    const copy = join(temporary, "module");
    const planFile = join(temporary, "plan.json");
    await mkdir(copy);
    await writeFile(planFile, plan);
    const files = ["-plan", planFile, "-folder", copy, "-out", join(temporary, "cases.json")];
    await runProgram("go", ["run", ".", ...files], { folder: EXTRACT });
    await rm(copy, { recursive: true });
  });
  const { passed, cases }: Extraction = JSON.parse(await readFile(join(folder, "cases.json"), "utf8"));
  const failed = tests.filter(({ test }) => passed[test] !== true).map(({ test }) => test);
  if (failed.length > 0)
    throw new Error(`${pinned.module} ${pinned.version}: ${failed.join(", ")} failed upstream`);
  return {
    kind: "present",
    value: {
      casesOf(test) {
        const found = cases.filter((each) => each.test === test).map(({ values }) => values);
        if (found.length === 0) throw new Error(`${test} recorded no case`);
        return found;
      },
    },
  };
}
