import { faultsOfReading, namedClustersFile } from "#cli/clusters-file.ts";
import { ConfigurationError, type ConfigurationFault } from "#cli/configuration-error.ts";
import { fleetBrakeLines, summaryOfFleetBrake } from "#cli/fleet-brake-lines.ts";
import { readFleetRecordFlag } from "#cli/fleet-record.ts";
import { type HomeSettingFlags, openAnyHome } from "#cli/management-cluster.ts";
import { letGoOfFleetBrake, usableFleetRecord } from "#cli/reset-fleet-brake.ts";
import type { Environment } from "#clouds/kind.ts";
import { jsonLine } from "#core/json-line.ts";

/** The flags of `brake --fleet`. */
export interface FleetBrakeFlags extends HomeSettingFlags {
  readonly fleetBrake?: string | undefined;
  readonly reset?: boolean | undefined;
  readonly json?: boolean | undefined;
  /** Where it says how many clusters there are. */
  readonly clustersFile?: string | undefined;
}

/** Everything together. */
const TIMEOUT_MS = 60_000;

/** Shows the brake that all clusters share, and lets it go where that is asked for; rejects where its record cannot be used. */
export async function fleetBrake(
  name: string | undefined,
  flags: FleetBrakeFlags,
  write: (line: string) => void,
  environment: Environment = process.env,
): Promise<void> {
  const faults: ConfigurationFault[] = [];
  const store = readFleetRecordFlag(flags.fleetBrake, environment, faults);
  if (name !== undefined)
    faults.push({ name: "CLUSTER", message: "has no place beside --fleet: it is the brake of all clusters" });
  if (store === undefined && faults.length === 0)
    faults.push({ name: "--fleet-brake", message: "is required: name the record, such as s3://BUCKET/KEY" });
  if (store === undefined || faults.length > 0) throw new ConfigurationError(faults);
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const reset =
    flags.reset === true
      ? await letGoOfFleetBrake(store, await clustersOf(flags, environment), signal)
      : undefined;
  const now = new Date();
  const summary = summaryOfFleetBrake(await usableFleetRecord(store, signal), now);
  if (flags.json === true) return write(jsonLine({ record: store.name, ...summary, ...reset }));
  if (reset !== undefined) write(reset.message);
  for (const line of fleetBrakeLines(summary, now)) write(line);
}

/** How many clusters there are; undefined where nothing says which. One whose entry is faulty is none. */
async function clustersOf(flags: FleetBrakeFlags, environment: Environment): Promise<number | undefined> {
  const reference = namedClustersFile(flags.clustersFile, environment);
  if (reference === undefined) return undefined;
  const faults: ConfigurationFault[] = [];
  const home = await openAnyHome(reference, flags, faults);
  const content = await home.read().catch((error: unknown) => {
    throw new ConfigurationError([...faults, ...faultsOfReading(home.name, error)]);
  });
  return content.clusters.length || undefined;
}
