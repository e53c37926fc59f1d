import { execFile } from "node:child_process";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { getErrorMessage } from "#core/sanitize-text.ts";
import { findProgram, isExecutable } from "#test/setup/find-program.ts";
import { getCacheFolder, makeOnce } from "#test/setup/make-once.ts";
import type { Part } from "#test/setup/parts.ts";

const run = promisify(execFile);

/** Prometheus, and promtool, which checks its rules. */
export type PrometheusProgram = "promtool" | "prometheus";

/**
 * Finds a program on the PATH, or extracts it once from Debian's package prometheus without installing that.
 */
export async function getPrometheusProgram(
  name: PrometheusProgram,
  say: (line: string) => void,
): Promise<Part<string>> {
  const found = await findProgram(name);
  if (found !== undefined) return { kind: "present", value: found };
  const folder = join(getCacheFolder(), "promtool");
  const program = join(folder, "usr/bin", name);
  if (await isExecutable(program)) return { kind: "present", value: program };
  const because = `no ${name} on the PATH`;
  if ((await findProgram("apt-get")) === undefined) return { kind: "missing", because };
  say(`takes ${name} out of Debian's package prometheus, once`);
  try {
    await makeOnce(folder, unpack);
    return { kind: "present", value: program };
  } catch (error) {
    return {
      kind: "missing",
      because: `${because}, and Debian's package cannot be had: ${getErrorMessage(error)}`,
    };
  }
}

async function unpack(folder: string): Promise<void> {
  const download = () => run("apt-get", ["download", "prometheus"], { cwd: folder, timeout: TIMEOUT_MS });
  // Without package lists the download fails; updating them needs root.
  await download().catch(() => run("apt-get", ["update"], { timeout: TIMEOUT_MS }).then(download));
  const [file = ""] = (await readdir(folder)).filter((name) => name.endsWith(".deb"));
  await run("dpkg-deb", ["--extract", file, "."], { cwd: folder, timeout: TIMEOUT_MS });
}

const TIMEOUT_MS = 5 * 60_000;
