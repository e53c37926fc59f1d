import { findClustersFile, toReadFaults } from "#cli/clusters-file.ts";
import { ConfigurationError, type ConfigurationFault } from "#cli/configuration-error.ts";
import { formatFleetBrake, summarizeFleetBrake } from "#cli/fleet-brake-lines.ts";
import { readFleetRecordFlag } from "#cli/fleet-record.ts";
import { openAnyRegistry, type RegistrySettingFlags } from "#cli/management-cluster.ts";
import { readUsableFleetRecord, releaseFleetBrake } from "#cli/reset-fleet-brake.ts";
import type { Environment } from "#clouds/provider.ts";
import { formatJsonLine } from "#core/json-line.ts";

/** The flags of `brake --fleet`. */
export interface FleetBrakeFlags extends RegistrySettingFlags {
  readonly fleetBrake?: string | undefined;
  readonly reset?: boolean | undefined;
  readonly json?: boolean | undefined;
  /** The source of the number of clusters. */
  readonly clustersFile?: string | undefined;
}

/** The time limit of the whole command. */
const TIMEOUT_MS = 60_000;

/**
 * Shows the brake that all clusters share, and releases it on request; rejects if its record cannot be used.
 */
export async function runFleetBrake(
  name: string | undefined,
  flags: FleetBrakeFlags,
  write: (line: string) => void,
  environment: Environment = process.env,
): Promise<void> {
  const faults: ConfigurationFault[] = [];
  const store = readFleetRecordFlag(flags.fleetBrake, environment, faults);
  if (name !== undefined)
    faults.push({ name: "CLUSTER", message: "cannot be combined with --fleet, the brake of all clusters" });
  if (store === undefined && faults.length === 0)
    faults.push({ name: "--fleet-brake", message: "is required: name the record, such as s3://BUCKET/KEY" });
  if (store === undefined || faults.length > 0) throw new ConfigurationError(faults);
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const reset =
    flags.reset === true
      ? await releaseFleetBrake(store, await countClusters(flags, environment), signal)
      : undefined;
  const now = new Date();
  const summary = summarizeFleetBrake(await readUsableFleetRecord(store, signal), now);
  if (flags.json === true) return write(formatJsonLine({ record: store.name, ...summary, ...reset }));
  if (reset !== undefined) write(reset.message);
  for (const line of formatFleetBrake(summary, now)) write(line);
}

/** Returns the number of clusters without faulty entries; undefined if no registry is named. */
async function countClusters(flags: FleetBrakeFlags, environment: Environment): Promise<number | undefined> {
  const reference = findClustersFile(flags.clustersFile, environment);
  if (reference === undefined) return undefined;
  const faults: ConfigurationFault[] = [];
  const registry = await openAnyRegistry(reference, flags, faults);
  const content = await registry.read().catch((error: unknown) => {
    throw new ConfigurationError([...faults, ...toReadFaults(registry.name, error)]);
  });
  return content.clusters.length || undefined;
}
