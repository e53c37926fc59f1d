import { readFleetBrake, refuseOneThread } from "#cli/deletion/fleet-record.ts";
import { readFallback } from "#cli/relay/fallback.ts";
import { checkFunctionAccess } from "#cli/relay/function-access.ts";
import {
  type FunctionFlags,
  type FunctionNames,
  readFunctionNames,
  readPlatformName,
  readRegion,
  selectFunctionFlags,
} from "#cli/relay/function-names.ts";
import {
  type ProcessFlags,
  type ProcessSettings,
  readFollowedSettings,
} from "#cli/relay/process-settings.ts";
import { readWorkers } from "#cli/relay/relay-worker-data.ts";
import { readServingSettings } from "#cli/relay/serving-settings.ts";
import { readSharding } from "#cli/relay/sharding.ts";
import { selectClusterSource } from "#cli/settings/cluster-settings.ts";
import { readStockFlags } from "#cli/settings/stock-flags.ts";
import type { Environment } from "#clouds/provider.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";
import type { FunctionPlatform } from "#platforms/platform.ts";
import { loadPlatform } from "#platforms/platforms.ts";

/** The flags of `relay`, as typed. */
export interface RelayFlags extends ProcessFlags, FunctionFlags {
  /** The functions' region; the AWS SDK's default without it. */
  readonly region?: string | undefined;
  /** Where events are handled while the platform fails; nowhere without it. */
  readonly fallback?: string | undefined;
}

/** What `relay` does, as its flags say. */
export interface RelaySettings extends ProcessSettings {
  readonly functions: FunctionSettings;
}

/** The deployed functions, and whether this process handles events while they cannot be invoked. */
export interface FunctionSettings {
  readonly flags: FunctionFlags;
  readonly functionName: FunctionNames;
  readonly platform: FunctionPlatform;
  readonly region: string | undefined;
  readonly hasFallback: boolean;
}

/** Reads the settings of `relay`; throws `ConfigurationError`, or leaves faults to the registry's opening. */
export async function readRelaySettings(flags: RelayFlags, environment: Environment): Promise<RelaySettings> {
  const faults: ConfigurationFault[] = [];
  const serving = { ...readServingSettings(flags, faults), functionPrefix: flags.functionPrefix };
  const stockFlags = readStockFlags(flags, faults);
  const functions = await readFunctionSettings(flags, environment, faults);
  const workersFor = readWorkers(flags.workers, faults);
  const fleetBrake = readFleetBrake(flags.fleetBrake, environment, faults);
  const source = selectClusterSource(flags.clustersFile, flags.given, environment, faults);
  const join = await readSharding(flags, environment, faults);
  const isThreaded = source.kind === "file" && workersFor !== undefined;
  if (isThreaded && functions.hasFallback) refuseOneThread(fleetBrake, faults);
  const followed = await readFollowedSettings(source, flags, join, environment, faults);
  return { serving, stockFlags, functions, fleetBrake, workersFor, followed };
}

async function readFunctionSettings(
  flags: RelayFlags,
  environment: Environment,
  faults: ConfigurationFault[],
): Promise<FunctionSettings> {
  const platform = await loadPlatform(readPlatformName(flags.platform, faults));
  const functionName = readFunctionNames(flags, faults);
  const region = await readRegion(platform, flags.region, faults);
  if (platform.name === "http") await checkFunctionAccess(flags, environment, faults);
  const hasFallback = readFallback(flags.fallback, faults);
  return { flags: selectFunctionFlags(flags), functionName, platform, region, hasFallback };
}
