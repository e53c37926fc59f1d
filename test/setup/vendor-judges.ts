import { makeGoProgram } from "#test/setup/go-program.ts";
import type { Part } from "#test/setup/parts.ts";
import type { Program } from "#test/setup/virtual-environment.ts";

/** Returns the program that judges exchanges with Hetzner's API by the types of Hetzner's client; built once. */
export function getHcloudJudge(say: (line: string) => void): Promise<Part<Program>> {
  return makeGoProgram("hcloud-judge", "../vendor-models/hcloud/", say);
}
