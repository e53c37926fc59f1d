import { execFile } from "node:child_process";
import { cpus, release, totalmem } from "node:os";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Machine } from "#bench/measurement.ts";
import { type Programs, stockVersion } from "#bench/programs.ts";

const run = promisify(execFile);

/** What this machine is, and which versions of what are measured on it. */
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
      go: firstVersion(await output("go", ["version"])),
      "kube-apiserver": firstVersion(await output(programs.controlPlane.kubeApiserver, ["--version"])),
      etcd: firstVersion(await output(programs.controlPlane.etcd, ["--version"])),
      "aws-cloud-controller-manager": await stockVersion(),
      "serverless-ccm": (await output("git", ["describe", "--always", "--dirty"])).trim(),
    },
    cloudLatencyMs,
  };
}

async function output(program: string, args: readonly string[]): Promise<string> {
  const folder = fileURLToPath(new URL("..", import.meta.url));
  return run(program, args, { cwd: folder }).then(
    ({ stdout }) => stdout,
    () => "unknown",
  );
}

function firstVersion(text: string): string {
  return /\bv?(?:go)?\d+\.\d+(?:\.\d+)?\b/.exec(text)?.[0] ?? "unknown";
}
