import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { cp, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { getErrorMessage } from "#core/sanitize-text.ts";
import { getBuildFolder, getModuleFolder } from "#test/setup/control-plane-build.ts";
import { findProgram } from "#test/setup/find-program.ts";
import { getCacheFolder, makeOnce } from "#test/setup/make-once.ts";
import type { Part } from "#test/setup/parts.ts";
import { runProgram } from "#test/setup/run-program.ts";

/** The controllers against which a package's tests are built. */
export type Controller = "stock" | "ours";

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
 * Builds the tests of a package of k8s.io/kubernetes once, for each controller; its version is that of the control
 * plane's module. Missing without Go, or if the sources cannot be downloaded. Rejects if they do not compile.
 */
export async function buildTests(
  source: string,
  say: (line: string) => void,
): Promise<Part<Readonly<Record<Controller, TestBinary>>>> {
  if ((await findProgram("go")) === undefined)
    return { kind: "missing", because: "no Go: install it, then repeat npm run test:upstream" };
  const module = getModuleFolder();
  let folder: string;
  try {
    // Downloads the sources of all dependencies.
    const { stdout } = await run(
      "go",
      ["list", "-deps", "-test", "-f", `{{if eq .ImportPath "${source}"}}{{.Dir}}{{end}}`, source],
      { cwd: module, maxBuffer: MAX_LIST_BYTES },
    );
    folder = stdout.trim();
  } catch (error) {
    const because = `Go cannot list ${source} and download its modules; see \`go list -deps -test ${source}\` in ${module}: ${getErrorMessage(error)}`;
    return { kind: "missing", because };
  }
  const build = async (controller: Controller): Promise<TestBinary> => ({
    path: await buildOnce(source, controller, module, say),
    folder,
  });
  // One after the other, because each build uses all cores.
  const stock = await build("stock");
  return { kind: "present", value: { stock, ours: await build("ours") } };
}

const MAX_LIST_BYTES = 64 * 1024 * 1024;

async function buildOnce(
  source: string,
  controller: Controller,
  module: string,
  say: (line: string) => void,
): Promise<string> {
  const hash = createHash("sha256").update(await getBuildFolder("control-plane"));
  if (controller === "ours") await hashReplacements(hash);
  const name = `${source.slice(source.lastIndexOf("/") + 1)}-${controller}`;
  const folder = join(getCacheFolder(), "upstream", `${name}-${hash.digest("hex").slice(0, 16)}`);
  await makeOnce(folder, async (temporary) => {
    say(`building the tests of ${source} for ${controller} with Go, once (up to five minutes) …`);
    const compile = async (from: string): Promise<void> => {
      const args = ["test", "-c", "-p", "2", "-ldflags", "-s -w", "-o", join(temporary, TEST_BINARY), source];
      await runProgram("go", args, { folder: from });
    };
    if (controller === "stock") return compile(module);
    const scratch = await mkdtemp(join(tmpdir(), "upstream-module-"));
    try {
      await writeReplacingModule(module, scratch);
      await compile(scratch);
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
  });
  return join(folder, TEST_BINARY);
}

const TEST_BINARY = "tests";

async function hashReplacements(hash: ReturnType<typeof createHash>): Promise<void> {
  const names = await readdir(REPLACEMENTS, { recursive: true, withFileTypes: true });
  const files = names.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  for (const file of files.sort()) hash.update(file.slice(REPLACEMENTS.length)).update(await readFile(file));
}

/** Writes a module that differs in one replacement: k8s.io/cloud-provider is a copy with our files. */
async function writeReplacingModule(module: string, scratch: string): Promise<void> {
  for (const file of ["go.mod", "go.sum"]) await cp(join(module, file), join(scratch, file));
  const { stdout } = await run("go", ["list", "-m", "-f", "{{.Dir}}", CLOUD_PROVIDER], { cwd: module });
  const copy = join(scratch, "cloud-provider");
  await cp(stdout.trim(), copy, { recursive: true });
  // Files in Go's module cache are read-only, and so are their copies.
  await runProgram("chmod", ["-R", "u+w", copy]);
  for (const entry of await readdir(REPLACEMENTS, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    await removeGoFiles(join(copy, entry.parentPath.slice(REPLACEMENTS.length)));
  }
  await cp(REPLACEMENTS, copy, { recursive: true });
  await runProgram("go", ["mod", "edit", "-replace", `${CLOUD_PROVIDER}=./cloud-provider`], {
    folder: scratch,
  });
}

async function removeGoFiles(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names) if (name.endsWith(".go")) await rm(join(folder, name));
}
