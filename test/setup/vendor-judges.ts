import { fileURLToPath } from "node:url";
import { makeGoProgram } from "#test/setup/go-program.ts";
import type { Part } from "#test/setup/parts.ts";
import { makeVirtualEnvironment, type Program } from "#test/setup/virtual-environment.ts";

/** A cloud whose judge is a program in Go. Both are packages of one module. */
export type GoJudge = "digitalocean" | "hcloud";

/** Returns the program that judges exchanges with a cloud by the types of the vendor's client; built once. */
export function getGoJudge(cloud: GoJudge, say: (line: string) => void): Promise<Part<Program>> {
  return makeGoProgram(`${cloud}-judge`, "../vendor-models/", say, `./${cloud}`);
}

/** A cloud whose judge is a program in Python. */
export type PythonJudge = "openstack" | "oci";

/** Returns the program that judges exchanges with a cloud by what its requirements bring; these are installed once. */
export async function getPythonJudge(
  cloud: PythonJudge,
  say: (line: string) => void,
): Promise<Part<Program>> {
  const folder = `../vendor-models/${cloud}`;
  const environment = await makeVirtualEnvironment(`${cloud}-judge`, `${folder}/requirements.txt`, say);
  if (environment.kind === "missing") return environment;
  const main = fileURLToPath(new URL(`${folder}/main.py`, import.meta.url));
  return {
    kind: "present",
    value: { program: environment.value.file("python"), args: ["-B", "-W", "ignore", main] },
  };
}
