import { findProgram } from "#test/setup/find-program.ts";
import type { Part } from "#test/setup/parts.ts";

/** systemd-analyze, from the PATH: it comes with systemd and by no other way. */
export async function getSystemdAnalyze(): Promise<Part<string>> {
  const found = await findProgram("systemd-analyze");
  if (found !== undefined) return { kind: "present", value: found };
  return { kind: "missing", because: "no systemd-analyze on the PATH" };
}
