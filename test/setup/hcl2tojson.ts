import type { Part } from "#test/setup/parts.ts";
import { makeVirtualEnvironment, type Program } from "#test/setup/virtual-environment.ts";

/** A program that prints a file of Terraform's language as JSON, expressions as their text; installed once. */
export async function getHcl2tojson(say: (line: string) => void): Promise<Part<Program>> {
  const environment = await makeVirtualEnvironment("hcl", "hcl-requirements.txt", say);
  if (environment.kind === "missing") return environment;
  return { kind: "present", value: environment.value.script("hcl2tojson") };
}
