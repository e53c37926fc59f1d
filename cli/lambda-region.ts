import { LambdaClient } from "@aws-sdk/client-lambda";
import type { ConfigurationFault } from "#cli/configuration-error.ts";

/**
 * Reads the functions' region: the flag, or what the SDK finds, which is AWS_REGION or the profile's region.
 */
export async function readLambdaRegion(
  region: string | undefined,
  faults: ConfigurationFault[],
): Promise<string | undefined> {
  const client = new LambdaClient(region === undefined ? {} : { region });
  try {
    return await client.config.region();
  } catch (error) {
    faults.push({ name: "--region", message: formatRegionError(region, error) });
    return undefined;
  } finally {
    client.destroy();
  }
}

function formatRegionError(region: string | undefined, error: unknown): string {
  if (region) return `"${region}" is no region; give one such as eu-central-1`;
  const isMissing = error instanceof Error && error.message.startsWith("Region is missing");
  if (isMissing) return "is missing: give it, set AWS_REGION, or give your AWS profile a region";
  return `what AWS_REGION or the AWS profile say is no region (${error instanceof Error ? error.message : error})`;
}
