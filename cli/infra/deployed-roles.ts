import * as z from "zod";
import type { ConfigurationFault } from "#cli/configuration-error.ts";
import { fileTrouble, readSmallFile } from "#config/read-small-file.ts";
import { FUNCTION_IDENTITIES, type FunctionIdentity } from "#core/identities.ts";
import { shown } from "#core/shown-text.ts";

/** What a deployment said of the role of a function. */
export interface DeployedRole {
  readonly identity: FunctionIdentity;
  /** As it is written there. */
  readonly arn: string;
}

/**
 * Reads the roles of a deployment from what `aws cloudformation describe-stacks` or `terraform output -json role_arns` printed. A file
 * that names none is a fault. Roles of functions that sign in to no cluster are left out.
 */
export async function readDeployedRoles(
  file: string | undefined,
  faults: ConfigurationFault[],
): Promise<readonly DeployedRole[]> {
  if (file === undefined) return [];
  const fault = (message: string): readonly DeployedRole[] => {
    faults.push({ name: "--roles-from", message: `${shown(file)} ${message}` });
    return [];
  };
  let text: string;
  try {
    text = await readSmallFile(file, MAX_FILE_BYTES);
  } catch (error) {
    return fault(fileTrouble(error));
  }
  const parsed = Printed.safeParse(parseJson(text));
  if (!parsed.success)
    return fault(
      "is neither what `aws cloudformation describe-stacks` prints nor `terraform output -json role_arns`",
    );
  if (parsed.data.stacks > 1)
    return fault(
      `is about ${parsed.data.stacks} stacks; print the one of this deployment, by --stack-name serverless-ccm-STAGE`,
    );
  const { arns } = parsed.data;
  const roles = FUNCTION_IDENTITIES.flatMap((identity) => {
    const arn = arns.get(identity);
    return arn === undefined ? [] : [{ identity, arn }];
  });
  if (roles.length > 0) return roles;
  return fault(
    "names no role of a function; a stack has them among its Outputs once it is deployed by this version",
  );
}

const MAX_FILE_BYTES = 4 * 1024 * 1024;

const Outputs = z
  .array(z.object({ OutputKey: z.string(), OutputValue: z.string() }))
  .transform((outputs) => new Map(outputs.map(({ OutputKey, OutputValue }) => [OutputKey, OutputValue])));

/** What either program prints, as the ARN of each function's role by the function's name. */
const Printed = z.union([
  z
    .object({ Stacks: z.array(z.object({ Outputs: Outputs.default(() => new Map()) })).min(1) })
    .transform(({ Stacks }) => ({
      stacks: Stacks.length,
      arns: new Map(
        FUNCTION_IDENTITIES.flatMap((identity) => {
          const arn = Stacks[0]?.Outputs.get(outputKey(identity));
          return arn === undefined ? [] : [[identity, arn] as const];
        }),
      ),
    })),
  z
    .record(z.string(), z.string().startsWith("arn:"))
    .transform((arns) => ({ stacks: 1, arns: new Map(Object.entries(arns)) })),
]);

/** The output's name in serverless.yml, as in `Ec2EventsFunctionRoleArn`. */
function outputKey(identity: FunctionIdentity): string {
  const words = identity.split("-").map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`);
  return `${words.join("")}FunctionRoleArn`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
