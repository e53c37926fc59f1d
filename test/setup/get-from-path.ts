import { findProgram } from "#test/setup/find-program.ts";
import type { Part } from "#test/setup/parts.ts";

/** Returns an optional program from the PATH, by name. */
export async function getFromPath(name: string): Promise<Part<string>> {
  const found = await findProgram(name);
  if (found !== undefined) return { kind: "present", value: found };
  return { kind: "missing", because: `no ${name} on the PATH` };
}
