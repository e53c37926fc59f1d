import { ConfigurationError, type ConfigurationFault } from "#cli/configuration-error.ts";
import type { Environment } from "#clouds/kind.ts";
import { type ClustersFault, ClustersFileError, placeOf } from "#config/clusters-file.ts";

/** The clusters file that the flag names, or else the environment, where an empty variable is as none. */
export function namedClustersFile(flag: string | undefined, environment: Environment): string | undefined {
  return flag ?? (environment["CLUSTERS_FILE"] || undefined);
}

/** The same for a command that is about such a file; throws a `ConfigurationError` where none is named. */
export function neededClustersFile(flag: string | undefined, environment: Environment): string {
  const file = namedClustersFile(flag, environment);
  if (file !== undefined) return file;
  const message = "is missing: give it, or set CLUSTERS_FILE";
  throw new ConfigurationError([{ name: "--clusters-file", message }]);
}

/** Faults of a clusters file, each by its place. */
export function faultsIn(file: string, faults: readonly ClustersFault[]): ConfigurationFault[] {
  return faults.map((fault) => ({ name: placeOf(file, fault), message: fault.message }));
}

/** What is wrong with a clusters file by what reading it threw; whatever else was thrown is thrown on. */
export function faultsOfReading(file: string, error: unknown): ConfigurationFault[] {
  if (!(error instanceof ClustersFileError)) throw error;
  return faultsIn(file, error.faults);
}
