import type { Part } from "#test/setup/parts.ts";
import { makeVirtualEnvironment, type Program } from "#test/setup/virtual-environment.ts";

/** Returns a program that prints a Terraform file as JSON, with expressions as text; installed once. */
export async function getHcl2tojson(say: (line: string) => void): Promise<Part<Program>> {
  const environment = await makeVirtualEnvironment("hcl", "hcl-requirements.txt", say);
  if (environment.kind === "missing") return environment;
  return { kind: "present", value: environment.value.script("hcl2tojson") };
}
