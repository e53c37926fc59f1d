import { execFile } from "node:child_process";
import { chmod, cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ROOT } from "../../build/bundle.ts";

/** The folder of the units. */
export const UNITS = join(ROOT, "infra/systemd");

/** A folder with the units and the parts of a machine that they name. */
export interface Machine {
  readonly folder: string;
  /** Runs systemd-analyze on it; returns its output and exit code. */
  analyze(args: readonly string[]): Promise<{ readonly code: number; readonly said: string }>;
  close(): Promise<void>;
}

const PROGRAMS = ["/usr/bin/node", "/usr/bin/curl", "/usr/bin/systemctl", "/bin/kill"];
/** Targets that every unit needs without naming them. */
const TARGETS = ["sysinit.target", "basic.target", "shutdown.target", "timers.target"];

/** Creates such a folder, with the units as changed by `change`. */
export async function makeMachine(systemdAnalyze: string): Promise<Machine> {
  const folder = await mkdtemp(join(tmpdir(), "systemd-"));
  const write = async (file: string, text: string): Promise<void> => {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), text);
  };
  for (const program of PROGRAMS) {
    await write(program, "#!/bin/sh\n");
    await chmod(join(folder, program), 0o755);
  }
  for (const target of TARGETS)
    await write(`/usr/lib/systemd/system/${target}`, "[Unit]\nDefaultDependencies=no\n");
  await cp(UNITS, join(folder, "etc/systemd/system"), { recursive: true });
  return {
    folder,
    analyze: (args) =>
      new Promise((resolve) => {
        execFile(systemdAnalyze, args, { timeout: 60_000 }, (error, stdout, stderr) =>
          resolve({ code: error === null ? 0 : Number(error.code ?? 1), said: stdout + stderr }),
        );
      }),
    close: () => rm(folder, { recursive: true, force: true }),
  };
}

/** Returns all values of a unit's setting. It ignores sections, because our setting names are unique. */
export function listSettings(unit: string, name: string): readonly string[] {
  return unit
    .split("\n")
    .flatMap((line) => (line.startsWith(`${name}=`) ? [line.slice(name.length + 1)] : []));
}
