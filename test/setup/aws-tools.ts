import type { Part } from "#test/setup/parts.ts";
import { makeVirtualEnvironment, type Program } from "#test/setup/virtual-environment.ts";

/** Programs that check AWS templates and commands. */
export interface AwsTools {
  /** Checks CloudFormation templates against AWS's own schemas. */
  readonly cfnLint: Program;
  /** AWS's command line. */
  readonly aws: Program;
}

/**
 * Returns cfn-lint and AWS's command line, installed once. Their findings depend on their versions, so these
 * are pinned.
 */
export async function getAwsTools(say: (line: string) => void): Promise<Part<AwsTools>> {
  const environment = await makeVirtualEnvironment("aws-tools", "aws-tools-requirements.txt", say);
  if (environment.kind === "missing") return environment;
  const { script } = environment.value;
  return { kind: "present", value: { cfnLint: script("cfn-lint"), aws: script("aws") } };
}
