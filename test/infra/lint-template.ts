import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Program } from "#test/setup/virtual-environment.ts";

const run = promisify(execFile);

/** W3005: osls makes a function depend on its role twice. It does no harm, and is not ours. */
const LINT = ["--ignore-checks", "W3005", "--format", "parseable"];

/** Returns cfn-lint's findings in templates for a region, or an empty text. */
export function lintTemplates(cfnLint: Program, region: string, files: readonly string[]): Promise<string> {
  const args = [...cfnLint.args, ...LINT, "--regions", region, "--template", ...files];
  return run(cfnLint.program, args).then(
    () => "",
    (error: { stdout: string; stderr: string }) => error.stdout + error.stderr,
  );
}
