import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { waitUntilTrue } from "#test/wait-until-true.ts";
import { ROOT } from "../../build/bundle.ts";

// Commands as typed by a reader who has finished the tutorial and continues alone.

let folder = "";
let sandbox: ChildProcess;
let printed = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sandbox-commands-"));
  sandbox = spawn(process.execPath, [join(ROOT, "src/cli/sandbox/main.ts")], { cwd: folder });
  sandbox.stdout?.on("data", (chunk: Buffer) => (printed += chunk));
  await waitUntilTrue("the sandbox", () => printed.includes("Everything runs"), 60_000);
});
afterAll(async () => {
  const ended = once(sandbox, "exit");
  sandbox.kill("SIGTERM");
  await ended;
  await rm(folder, { recursive: true, force: true });
});

async function typed(commands: string): Promise<{ readonly code: number | null; readonly said: string }> {
  const shell = spawn("sh", ["-c", `. sandbox/environment; ${commands} 2>&1`], { cwd: folder });
  let said = "";
  shell.stdout.on("data", (chunk: Buffer) => (said += chunk));
  const [code] = await once(shell, "close");
  return { code, said };
}

test("doctor checks everything in the sandbox, and finds no failure", async () => {
  const { code, said } = await typed(
    "serverless-ccm doctor tenant-a --clusters-file sandbox/clusters.yaml --function-prefix serverless-ccm-sandbox-",
  );
  expect(said).not.toMatch(/^failed/m);
  expect(said).toMatch(/^ok +identity of node-lifecycle +signs in as serverless-ccm-node-lifecycle$/m);
  expect(said).toMatch(/^ok +permissions of relay +may do the \d+ things that it needs, and nothing else$/m);
  expect(said).toMatch(/^ok +functions +the account may run 1000 at a time/m);
  expect(code).toBe(0);
});

test("doctor names a function that the sandbox does not have", async () => {
  const { code, said } = await typed(
    "serverless-ccm doctor tenant-a --clusters-file sandbox/clusters.yaml --function-prefix another-",
  );
  expect([code, said]).toEqual([1, expect.stringMatching(/^failed +functions +.*another-/m)]);
});

test("clusters remove calls the sandbox's cloud, and no other", async () => {
  // There is one address for any region and any spelling of it.
  expect(await readFile(join(folder, "sandbox/environment"), "utf8")).toMatch(
    /^export AWS_ENDPOINT_URL='http:\/\/127\.0\.0\.1:\d+'$/m,
  );
  const { code, said } = await typed(
    "serverless-ccm clusters remove tenant-a --clusters-file sandbox/clusters.yaml",
  );
  expect(said).toMatch(/^tenant-a is removed from sandbox\/clusters.yaml$/m);
  expect(code).toBe(0);
});
