import { InvokeCommand, LambdaClient } from "@aws-sdk/client-lambda";
import { FUNCTION_TIMEOUT_MS } from "#platforms/invoker.ts";
import { createLambdaInvoker } from "#platforms/lambda/invoker.ts";
import type {
  Deployment,
  FunctionPlatform,
  OpenDeployment,
  PlatformInvoker,
  PlatformInvokerOptions,
} from "#platforms/platform.ts";

/** AWS Lambda. A function is named by its name or its ARN. */
export const lambda = {
  name: "lambda",
  findRegion,
  createInvoker,
  openDeployment,
} satisfies FunctionPlatform & { readonly openDeployment: OpenDeployment };

function createInvoker({ functionName, maxInFlight, region }: PlatformInvokerOptions): PlatformInvoker {
  return createLambdaInvoker({
    ...{ functionName, maxInFlight, functionTimeoutMs: FUNCTION_TIMEOUT_MS },
    client: region === undefined ? {} : { region },
  });
}

/** The region is the given one, or what the SDK finds: AWS_REGION, or the region of the AWS profile. */
async function findRegion(given: string | undefined): Promise<string | undefined> {
  const client = new LambdaClient(given === undefined ? {} : { region: given });
  try {
    return await client.config.region();
  } catch (error) {
    throw new Error(formatRegionError(given, error));
  } finally {
    client.destroy();
  }
}

function formatRegionError(region: string | undefined, error: unknown): string {
  if (region) return `"${region}" is not a region; give one such as eu-central-1`;
  const isMissing = error instanceof Error && error.message.startsWith("Region is missing");
  if (isMissing) return "is missing: give it, set AWS_REGION, or give your AWS profile a region";
  return `what AWS_REGION or the AWS profile say is not a region (${error instanceof Error ? error.message : error})`;
}

/** Lambda's status for an accepted asynchronous invocation. */
const ACCEPTED = 202;

function openDeployment(
  environment: Readonly<Record<string, string | undefined>>,
  ownName: string,
): Deployment {
  const deployedName = environment["AWS_LAMBDA_FUNCTION_NAME"] ?? ownName;
  const prefix = deployedName.endsWith(ownName) ? deployedName.slice(0, -ownName.length) : "";
  let client: LambdaClient | undefined;
  return {
    prefix: prefix || undefined,
    createInvoker: ({ functionName, maxInFlight }) =>
      createInvoker({ functionName: (controller) => prefix + functionName(controller), maxInFlight }),
    async invokeItself(payload, abortSignal) {
      client ??= new LambdaClient({ maxAttempts: 3 });
      const Payload = Buffer.from(JSON.stringify(payload));
      const command = new InvokeCommand({ FunctionName: deployedName, InvocationType: "Event", Payload });
      const { StatusCode } = await client.send(command, { abortSignal });
      if (StatusCode !== ACCEPTED)
        throw new Error(`Lambda answered ${StatusCode} to an invocation of ${deployedName}`);
    },
  };
}
