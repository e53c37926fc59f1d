import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { cp, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { getErrorMessage } from "#core/sanitize-text.ts";
import { findProgram } from "#test/setup/find-program.ts";
import { getCacheFolder, makeOnce } from "#test/setup/make-once.ts";
import type { Part } from "#test/setup/parts.ts";
import { runProgram } from "#test/setup/run-program.ts";

/** The controllers against which a package's tests are built. */
export type Controller = "stock" | "ours";

/** Tests of a Go package, before they are built. */
export interface TestSource {
  /** As the page names it, such as `service`. */
  readonly name: string;
  /** The Go package, as `go test` takes it in the module's folder. */
  readonly package: string;
  /** The folder of the Go module, whose own test files are in it. */
  readonly module: string;
}

/** The built tests of a Go package. */
export interface TestBinary {
  readonly path: string;
  /** The package's own folder in Go's module cache, in which its tests expect to run. */
  readonly folder: string;
}

/** The module with the entrances of the stock controllers. */
const CLOUD_PROVIDER = "k8s.io/cloud-provider";

/** Our files, which replace those of that module; each folder here replaces the Go files of its package. */
const REPLACEMENTS = fileURLToPath(new URL("cloud-provider/", import.meta.url));

const run = promisify(execFile);

/**
 * Builds the tests of a package once, for each controller. Missing without Go, or if the sources cannot be
 * downloaded. Rejects if they do not compile.
 */
export async function buildTests(
  source: TestSource,
  say: (line: string) => void,
): Promise<Part<Readonly<Record<Controller, TestBinary>>>> {
  if ((await findProgram("go")) === undefined)
    return { kind: "missing", because: "no Go: install it, then repeat npm run test:upstream" };
  const options = { cwd: source.module, maxBuffer: MAX_LIST_BYTES };
  let folder: string;
  try {
    // Downloads the sources of all dependencies.
    await run("go", ["list", "-deps", "-test", source.package], options);
    folder = (await run("go", ["list", "-f", "{{.Dir}}", source.package], options)).stdout.trim();
  } catch (error) {
    const command = `go list -deps -test ${source.package}`;
    const because = `Go cannot download the sources; run ${command} in ${source.module}: ${getErrorMessage(error)}`;
    return { kind: "missing", because };
  }
  const build = async (controller: Controller): Promise<TestBinary> => ({
    path: await buildOnce(source, controller, say),
    folder,
  });
  // One after the other, because each build uses all cores.
  const stock = await build("stock");
  return { kind: "present", value: { stock, ours: await build("ours") } };
}

const MAX_LIST_BYTES = 64 * 1024 * 1024;

async function buildOnce(
  source: TestSource,
  controller: Controller,
  say: (line: string) => void,
): Promise<string> {
  const hash = createHash("sha256");
  const files = await listModuleFiles(source.module);
  if (controller === "ours") files.push(...(await listReplacements()));
  for (const file of files) hash.update(basename(file)).update(await readFile(file));
  const name = `${source.name}-${controller}-${hash.digest("hex").slice(0, 16)}`;
  const folder = join(getCacheFolder(), "upstream", name);
  await makeOnce(folder, async (temporary) => {
    say(`building the tests for ${controller} with Go, once (minutes) …`);
    const output = join(temporary, TEST_BINARY);
    const args = ["test", "-c", "-p", "2", "-ldflags", "-s -w", "-o", output, source.package];
    if (controller === "stock") return runProgram("go", args, { folder: source.module });
    const scratch = await mkdtemp(join(tmpdir(), "upstream-module-"));
    try {
      await writeReplacingModule(source.module, scratch);
      await runProgram("go", args, { folder: scratch });
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
  });
  return join(folder, TEST_BINARY);
}

const TEST_BINARY = "tests";

/** Lists the files of a module's own folder that determine its tests. */
async function listModuleFiles(module: string): Promise<string[]> {
  const names = await readdir(module);
  return names.filter((name) => /^go\.(mod|sum)$|_test\.go$/.test(name)).map((name) => join(module, name));
}

async function listReplacements(): Promise<string[]> {
  const entries = await readdir(REPLACEMENTS, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return files.map(({ parentPath, name }) => join(parentPath, name)).sort();
}

/** Writes a module that differs in one replacement: k8s.io/cloud-provider is a copy with our files. */
async function writeReplacingModule(module: string, scratch: string): Promise<void> {
  for (const file of await listModuleFiles(module)) await cp(file, join(scratch, basename(file)));
  const { stdout } = await run("go", ["list", "-m", "-f", "{{.Dir}}", CLOUD_PROVIDER], { cwd: module });
  const copy = join(scratch, "cloud-provider");
  await cp(stdout.trim(), copy, { recursive: true });
  // Files in Go's module cache are read-only, and so are their copies.
  await runProgram("chmod", ["-R", "u+w", copy]);
  for (const file of await listReplacements())
    await removeGoFiles(join(copy, dirname(file.slice(REPLACEMENTS.length))));
  await cp(REPLACEMENTS, copy, { recursive: true });
  await runProgram("go", ["mod", "edit", "-replace", `${CLOUD_PROVIDER}=./cloud-provider`], {
    folder: scratch,
  });
}

async function removeGoFiles(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names) if (name.endsWith(".go")) await rm(join(folder, name));
}
