import { execFile } from "node:child_process";
import { cpus, release, totalmem } from "node:os";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Machine } from "#bench/measurement.ts";
import { type Programs, readStockVersion } from "#bench/programs.ts";

const run = promisify(execFile);

/** Describes this machine, and the versions of the measured programs. */
export async function describeMachine(programs: Programs, cloudLatencyMs: number): Promise<Machine> {
  const [firstCpu] = cpus();
  return {
    startedAt: new Date().toISOString(),
    cpu: firstCpu?.model ?? "unknown",
    cores: cpus().length,
    memoryGiB: Math.round((totalmem() / 2 ** 30) * 10) / 10,
    kernel: release(),
    versions: {
      node: process.version,
      go: parseVersion(await readOutput("go", ["version"])),
      "kube-apiserver": parseVersion(await readOutput(programs.controlPlane.kubeApiserver, ["--version"])),
      etcd: parseVersion(await readOutput(programs.controlPlane.etcd, ["--version"])),
      "aws-cloud-controller-manager": await readStockVersion(),
      "serverless-ccm": (await readOutput("git", ["describe", "--always", "--dirty"])).trim(),
    },
    cloudLatencyMs,
  };
}

async function readOutput(program: string, args: readonly string[]): Promise<string> {
  const folder = fileURLToPath(new URL("..", import.meta.url));
  return run(program, args, { cwd: folder }).then(
    ({ stdout }) => stdout,
    () => "unknown",
  );
}

function parseVersion(text: string): string {
  return /\bv?(?:go)?\d+\.\d+(?:\.\d+)?\b/.exec(text)?.[0] ?? "unknown";
}
