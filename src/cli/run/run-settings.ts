import { readFleetBrake, refuseOneThread } from "#cli/deletion/fleet-record.ts";
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

/** Reads the settings of `run`; throws `ConfigurationError`, or leaves faults to the registry's opening. */
export async function readRunSettings(
  flags: ProcessFlags,
  environment: Environment,
): Promise<ProcessSettings> {
  const faults: ConfigurationFault[] = [];
  const serving = readServingSettings(flags, faults);
  const stockFlags = readStockFlags(flags, faults);
  const workersFor = readWorkers(flags.workers, faults);
  const source = selectClusterSource(flags.clustersFile, flags.given, environment, faults);
  const fleetBrake = readFleetBrake(flags.fleetBrake, environment, faults);
  const join = await readSharding(flags, environment, faults);
  if (source.kind === "file" && flags.functionKubeconfig !== undefined) faults.push(FUNCTION_KUBECONFIG);
  if (source.kind === "file" && workersFor !== undefined) refuseOneThread(fleetBrake, faults);
  const followed = await readFollowedSettings(source, flags, join, environment, faults);
  return { serving, stockFlags, fleetBrake, workersFor, followed };
}

const FUNCTION_KUBECONFIG: ConfigurationFault = {
  name: "--function-kubeconfig",
  message:
    "describes one cluster, and cannot be combined with a clusters file: set signIn.NAME of each entry",
};
