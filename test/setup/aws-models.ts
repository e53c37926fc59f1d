import { globSync } from "node:fs";
import type { Part } from "#test/setup/parts.ts";
import { makeVirtualEnvironment } from "#test/setup/virtual-environment.ts";

/** Returns the folder of AWS's service models in botocore, installed once. */
export async function getAwsModels(say: (line: string) => void): Promise<Part<string>> {
  const environment = await makeVirtualEnvironment("aws-models", "aws-models-requirements.txt", say);
  if (environment.kind === "missing") return environment;
  const [data] = globSync(environment.value.file("../lib/python3*/site-packages/botocore/data"));
  if (data !== undefined) return { kind: "present", value: data };
  return { kind: "missing", because: "the installed botocore has no data folder" };
}
