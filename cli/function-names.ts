import type { ConfigurationFault } from "#cli/configuration-error.ts";
import type { Controller } from "#core/event.ts";

/** The file in functions/ that carries out a controller's events. */
const FUNCTION_FILES: Readonly<Record<Controller, string>> = { "cloud-node-controller": "node" };

/** The flags that say which functions are invoked; one of the two is given. */
export interface FunctionFlags {
  readonly functionPrefix?: string | undefined;
  readonly functionArn?: string | undefined;
}

/** Name or ARN of the function that carries out a controller's events. */
export type FunctionNames = (controller: Controller) => string;

/** Reads which function carries out what; `files` are those of all controllers there are. */
export function readFunctionNames(
  { functionPrefix, functionArn }: FunctionFlags,
  faults: ConfigurationFault[],
  files: Readonly<Record<string, string>> = FUNCTION_FILES,
): FunctionNames {
  if ((functionPrefix === undefined) === (functionArn === undefined)) {
    faults.push({ name: "--function-prefix", message: "give it or --function-arn, one of the two" });
  }
  const functions = [...new Set(Object.values(files))];
  if (functionArn !== undefined && functions.length > 1) {
    const message = `names one function, and there are ${functions.length} (${functions.join(", ")}): give --function-prefix`;
    faults.push({ name: "--function-arn", message });
  }
  return (controller) => functionArn ?? `${functionPrefix}${files[controller]}`;
}
