import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ROOT } from "../../build/bundle.ts";

// The tutorial's own test shows that it works (test/docs/tutorial.test.ts).

const run = promisify(execFile);
const PROGRAM = join(ROOT, "src/cli/sandbox/main.ts");
let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sandbox-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const started = (...args: string[]) =>
  run(process.execPath, [PROGRAM, ...args], { cwd: folder }).catch(({ code, stderr }) => ({ code, stderr }));

test("an existing folder is not changed, and the error says what to do", async () => {
  await mkdir(join(folder, "sandbox"));
  await writeFile(join(folder, "sandbox/notes"), "mine");
  const { code, stderr } = (await started()) as { code: number; stderr: string };
  expect(code).toBe(1);
  expect(stderr).toBe(
    "sandbox: sandbox exists already: a sandbox runs there, or was killed; end it, or remove the folder\n",
  );
  expect(await readdir(join(folder, "sandbox"))).toEqual(["notes"]);
});

test("an unknown flag is an error, and nothing is created", async () => {
  const { code, stderr } = (await started("--fodler", "elsewhere")) as { code: number; stderr: string };
  expect(code).toBe(1);
  expect(stderr).toMatch(/^sandbox: .*--fodler/);
  expect(await readdir(folder)).toEqual(["sandbox"]);
});
