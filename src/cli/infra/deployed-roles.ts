import * as z from "zod";
import { describeFileError, readSmallFile } from "#config/read-small-file.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";
import { FUNCTION_IDENTITIES, type FunctionIdentity } from "#core/identities.ts";
import { parseJson } from "#core/parse-json.ts";
import { sanitizeText } from "#core/sanitize-text.ts";

/** The role of a function as a deployment printed it. */
export interface DeployedRole {
  readonly identity: FunctionIdentity;
  /** The ARN as written there. */
  readonly arn: string;
}

/**
 * Reads the roles of a deployment from the output of `aws cloudformation describe-stacks` or `terraform
 * output -json role_arns`. A file without roles is a fault. Roles of functions that sign in to no cluster are
 * left out.
 */
export async function readDeployedRoles(
  file: string | undefined,
  faults: ConfigurationFault[],
): Promise<readonly DeployedRole[]> {
  if (file === undefined) return [];
  const fault = (message: string): readonly DeployedRole[] => {
    faults.push({ name: "--roles-from", message: `${sanitizeText(file)} ${message}` });
    return [];
  };
  let text: string;
  try {
    text = await readSmallFile(file, MAX_FILE_BYTES);
  } catch (error) {
    return fault(describeFileError(error));
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

/** The output of either program, as the ARN of each function's role by the function's name. */
const Printed = z.union([
  z
    .object({ Stacks: z.array(z.object({ Outputs: Outputs.default(() => new Map()) })).min(1) })
    .transform(({ Stacks }) => ({
      stacks: Stacks.length,
      arns: new Map(
        FUNCTION_IDENTITIES.flatMap((identity) => {
          const arn = Stacks[0]?.Outputs.get(getOutputKey(identity));
          return arn === undefined ? [] : [[identity, arn] as const];
        }),
      ),
    })),
  z
    .record(z.string(), z.string().startsWith("arn:"))
    .transform((arns) => ({ stacks: 1, arns: new Map(Object.entries(arns)) })),
]);

/** Returns the output's name in serverless.yml, such as `Ec2EventsFunctionRoleArn`. */
function getOutputKey(identity: FunctionIdentity): string {
  const words = identity.split("-").map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`);
  return `${words.join("")}FunctionRoleArn`;
}
