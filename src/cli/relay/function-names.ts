import type { ConfigurationFault } from "#core/config-errors.ts";
import { WATCHES } from "#core/controllers.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";
import type { Watch } from "#core/watch.ts";
import type { FunctionPlatform } from "#platforms/platform.ts";

/** The flags that name the functions to invoke; one of the two is given. */
export interface FunctionFlags {
  readonly functionPrefix?: string | undefined;
  readonly functionArn?: string | undefined;
}

/** Returns the name or ARN of the function that handles a controller's events. */
export type FunctionNames = (controller: string) => string;

/** Reads which function handles which controller; `watches` are those of all existing controllers. */
export function readFunctionNames(
  { functionPrefix, functionArn }: FunctionFlags,
  faults: ConfigurationFault[],
  watches: readonly Pick<Watch, "name" | "functionName">[] = WATCHES,
): FunctionNames {
  if ((functionPrefix === undefined) === (functionArn === undefined)) {
    faults.push({ name: "--function-prefix", message: "give it or --function-arn, one of the two" });
  }
  const names = new Map(watches.map(({ name, functionName }) => [name, functionName]));
  return (controller) => functionArn ?? `${functionPrefix}${names.get(controller) ?? controller}`;
}

/**
 * Returns what is wrong with one function for all these controllers of the clusters; a controller may appear
 * several times.
 */
export function checkOneFunction(
  { functionArn }: FunctionFlags,
  controllers: readonly string[],
  watches: readonly Pick<Watch, "name" | "functionName">[] = WATCHES,
): ConfigurationFault[] {
  const needed = watches.filter(({ name }) => controllers.includes(name));
  const functions = [...new Set(needed.map(({ functionName }) => functionName))];
  if (functionArn === undefined || functions.length <= 1) return [];
  const message = `names one function, and the clusters' controllers have ${functions.length} (${functions.join(", ")}): give --function-prefix`;
  return [{ name: "--function-arn", message }];
}

/** Finds the functions' region: the flag, or what the platform finds in the environment. */
export async function readRegion(
  platform: FunctionPlatform,
  region: string | undefined,
  faults: ConfigurationFault[],
): Promise<string | undefined> {
  try {
    return await platform.findRegion(region);
  } catch (error) {
    faults.push({ name: "--region", message: getErrorMessage(error) });
    return undefined;
  }
}
