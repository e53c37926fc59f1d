import { findProgram } from "#test/setup/find-program.ts";
import type { Part } from "#test/setup/parts.ts";
import { makeVirtualEnvironment, type Program } from "#test/setup/virtual-environment.ts";

/**
 * Returns hadolint, which checks Dockerfiles and the shell in them. It is installed once and pinned, because
 * its findings depend on its version.
 */
export async function getHadolint(say: (line: string) => void): Promise<Part<Program>> {
  const environment = await makeVirtualEnvironment("hadolint", "hadolint-requirements.txt", say);
  if (environment.kind === "missing") {
    const found = await findProgram("hadolint");
    return found === undefined ? environment : { kind: "present", value: { program: found, args: [] } };
  }
  return { kind: "present", value: { program: environment.value.file("hadolint"), args: [] } };
}
