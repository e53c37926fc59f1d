import { execFile } from "node:child_process";
import { chmod, cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ROOT } from "../../build/bundle.ts";

/** Where the units are. */
export const UNITS = join(ROOT, "infra/systemd");

/** A folder with the units and as much of a machine as they name. */
export interface Machine {
  readonly folder: string;
  /** Runs systemd-analyze on it; what it says, and how it ends. */
  analyze(args: readonly string[]): Promise<{ readonly code: number; readonly said: string }>;
  close(): Promise<void>;
}

const PROGRAMS = ["/usr/bin/node", "/usr/bin/curl", "/usr/bin/systemctl", "/bin/kill"];
/** What every unit needs without naming it. */
const TARGETS = ["sysinit.target", "basic.target", "shutdown.target", "timers.target"];

/** Makes such a folder, with the units as `change` leaves them. */
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

/** A setting of a unit, all of its values; comments and other sections' names do not matter to ours. */
export function settingsIn(unit: string, name: string): readonly string[] {
  return unit
    .split("\n")
    .flatMap((line) => (line.startsWith(`${name}=`) ? [line.slice(name.length + 1)] : []));
}
