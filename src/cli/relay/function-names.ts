import type { ConfigurationFault } from "#core/config-errors.ts";
import { WATCHES } from "#core/controllers.ts";
import { getErrorMessage, sanitizeText } from "#core/sanitize-text.ts";
import type { Watch } from "#core/watch.ts";
import { checkUrlTemplate, formatFunctionUrl } from "#platforms/http/protocol.ts";
import type { FunctionPlatform } from "#platforms/platform.ts";
import { DEFAULT_PLATFORM, PLATFORM_NAMES, type PlatformName } from "#platforms/platforms.ts";

/**
 * The flags that name the functions to invoke, and the platform where they are. On Lambda they have a prefix or an
 * ARN. Over HTTP they have URLs, and the files say how to reach them. Plain data.
 */
export interface FunctionFlags {
  readonly platform?: string | undefined;
  readonly functionPrefix?: string | undefined;
  readonly functionArn?: string | undefined;
  /** A URL with `{function}`. */
  readonly functionUrl?: string | undefined;
  readonly functionTokenFile?: string | undefined;
  readonly functionCaFile?: string | undefined;
  readonly functionCertFile?: string | undefined;
  readonly functionKeyFile?: string | undefined;
}

/** Returns the name, the ARN or the URL of the function that handles a controller's events. */
export type FunctionNames = (controller: string) => string;

/** Returns the flags about functions among others. */
export function selectFunctionFlags(flags: FunctionFlags): FunctionFlags {
  return Object.fromEntries(FUNCTION_FLAGS.map(({ key }) => [key, flags[key]]));
}

/** The flags by their keys, with the platform that they are for. */
export const FUNCTION_FLAGS: readonly { key: keyof FunctionFlags; flag: string; of?: PlatformName }[] = [
  { key: "platform", flag: "--platform" },
  { key: "functionPrefix", flag: "--function-prefix", of: "lambda" },
  { key: "functionArn", flag: "--function-arn", of: "lambda" },
  { key: "functionUrl", flag: "--function-url", of: "http" },
  { key: "functionTokenFile", flag: "--function-token-file", of: "http" },
  { key: "functionCaFile", flag: "--function-ca-file", of: "http" },
  { key: "functionCertFile", flag: "--function-cert-file", of: "http" },
  { key: "functionKeyFile", flag: "--function-key-file", of: "http" },
];

/** Reads `--platform`. */
export function readPlatformName(name: string | undefined, faults: ConfigurationFault[] = []): PlatformName {
  const found = PLATFORM_NAMES.find((each) => each === (name ?? DEFAULT_PLATFORM));
  if (found !== undefined) return found;
  const message = `"${sanitizeText(name ?? "")}" is not a function platform; give ${PLATFORM_NAMES.join(" or ")}`;
  faults.push({ name: "--platform", message });
  return DEFAULT_PLATFORM;
}

/** Reads which function handles which controller; `watches` are those of all existing controllers. */
export function readFunctionNames(
  flags: FunctionFlags,
  faults: ConfigurationFault[],
  watches: readonly Pick<Watch, "name" | "functionName">[] = WATCHES,
): FunctionNames {
  const names = new Map(watches.map(({ name, functionName }) => [name, functionName]));
  const nameFor = (controller: string): string => names.get(controller) ?? controller;
  const platform = readPlatformName(flags.platform);
  for (const { key, flag, of } of FUNCTION_FLAGS) {
    if (of !== undefined && of !== platform && flags[key] !== undefined)
      faults.push({ name: flag, message: `is for --platform ${of}; leave it out, or give that` });
  }
  if (platform === "http") {
    const { functionUrl: template = "" } = flags;
    const fault = template === "" ? MISSING_URL : checkUrlTemplate(template);
    if (fault !== undefined) faults.push({ name: "--function-url", message: fault });
    return (controller) => formatFunctionUrl(template, nameFor(controller));
  }
  const { functionPrefix, functionArn } = flags;
  if ((functionPrefix === undefined) === (functionArn === undefined)) {
    faults.push({ name: "--function-prefix", message: "give it or --function-arn, one of the two" });
  }
  return (controller) => functionArn ?? `${functionPrefix}${nameFor(controller)}`;
}

const MISSING_URL = "is missing: give the URL of the functions, such as https://fns.example.com/{function}";

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
