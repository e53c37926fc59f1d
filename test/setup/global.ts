import type { TestProject } from "vitest/node";
import { getAwsTools } from "#test/setup/aws-tools.ts";
import { getControlPlaneBinaries } from "#test/setup/control-plane-binaries.ts";
import { getMotoProgram } from "#test/setup/moto-program.ts";
import type { Parts } from "#test/setup/parts.ts";

/** Finds or makes what the suites need of the machine, and provides it to them; what is missing is said in a line. */
export default async function setup(root: TestProject): Promise<void> {
  const onlyPure = root.vitest.projects.every(({ name }) => name === "core");
  root.provide("parts", onlyPure ? NOT_NEEDED : await makeParts());
}

const NOT_NEEDED: Parts = {
  "control-plane": { kind: "missing", because: "the pure tests start nothing" },
  moto: { kind: "missing", because: "the pure tests start nothing" },
  "aws-tools": { kind: "missing", because: "the pure tests start nothing" },
};

async function makeParts(): Promise<Parts> {
  const [plane, moto, awsTools] = await Promise.all([
    getControlPlaneBinaries(say),
    getMotoProgram(say),
    getAwsTools(say),
  ]);
  if (plane.kind === "missing") say(`suites on a real API server are skipped: ${plane.because}`);
  if (moto.kind === "missing") say(`suites on moto are skipped: ${moto.because}`);
  if (awsTools.kind === "missing")
    say(`suites with cfn-lint and AWS's command line are skipped: ${awsTools.because}`);
  return { "control-plane": plane, moto, "aws-tools": awsTools };
}

function say(line: string): void {
  process.stderr.write(`test setup: ${line}\n`);
}
