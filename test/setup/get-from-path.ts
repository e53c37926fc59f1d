import { findProgram } from "#test/setup/find-program.ts";
import type { Part } from "#test/setup/parts.ts";

/** A program that a machine has or has not: by its name on the PATH. */
export async function getFromPath(name: string): Promise<Part<string>> {
  const found = await findProgram(name);
  if (found !== undefined) return { kind: "present", value: found };
  return { kind: "missing", because: `no ${name} on the PATH` };
}
