import { findProgram } from "#test/setup/find-program.ts";
import type { Part } from "#test/setup/parts.ts";
import { makeVirtualEnvironment, type Program } from "#test/setup/virtual-environment.ts";

/** The command of moto_server, without its own flags. */
export type MotoProgram = Program;

/**
 * Returns moto_server, an emulator of EC2, from the PATH or installed once into a separate virtual
 * environment.
 */
export async function getMotoProgram(say: (line: string) => void): Promise<Part<MotoProgram>> {
  const found = await findProgram("moto_server");
  if (found !== undefined) return { kind: "present", value: { program: found, args: [] } };
  const environment = await makeVirtualEnvironment("moto", "requirements.txt", say);
  if (environment.kind === "present")
    return { kind: "present", value: environment.value.module("moto.server") };
  return { kind: "missing", because: `no moto_server on the PATH, and ${environment.because}` };
}
