import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { getBuiltCommandLine } from "#test/build/shared-build.ts";
import { describeWithPart } from "#test/setup/parts.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";
import { ROOT } from "../../build/bundle.ts";

describeWithPart("control-plane", "the built program, away from its sources", ({ kubeApiserver, etcd }) => {
  let folder = "";
  let demo: ChildProcess | undefined;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "built-demo-"));
    for (const name of ["package.json", "infra"])
      await cp(join(ROOT, name), join(folder, "installed", name), { recursive: true });
    await cp(await getBuiltCommandLine(), join(folder, "installed/dist"), { recursive: true });
    await mkdir(join(folder, "binaries"));
    await symlink(kubeApiserver, join(folder, "binaries/kube-apiserver"));
    await symlink(etcd, join(folder, "binaries/etcd"));
  });
  afterAll(async () => {
    if (demo !== undefined && demo.exitCode === null && demo.signalCode === null) {
      const ended = once(demo, "exit");
      demo.kill("SIGTERM");
      await ended;
    }
    await rm(folder, { recursive: true, force: true });
  });

  test("runs the demo on a real API server, with its installed manifests", async () => {
    const environment = { ...process.env, KUBEBUILDER_ASSETS: join(folder, "binaries") };
    const program = join(folder, "installed/dist/serverless-ccm.mjs");
    demo = spawn(process.execPath, [program, "demo"], { cwd: dirname(program), env: environment });
    let said = "";
    demo.stdout?.on("data", (chunk: Buffer) => (said += chunk));
    demo.stderr?.on("data", (chunk: Buffer) => (said += chunk));
    const isOver = (): boolean => demo?.exitCode !== null || said.includes("200 nodes join at once");
    await waitUntilTrue("the second act", isOver, 120_000);
    expect(said).toContain("API server (real kube-apiserver and etcd)");
    expect(said).toContain("200 nodes join at once");
  }, 200_000);
});
