import { rmSync } from "node:fs";
import { ConfigurationError } from "#cli/configuration-error.ts";
import type { Environment } from "#clouds/provider.ts";
import { ClustersFileError, type ClustersFileIssue, formatFaultPlace } from "#config/clusters-file.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";

/**
 * Returns the clusters file from the flag, or else from the environment; an empty variable counts as unset.
 */
export function findClustersFile(flag: string | undefined, environment: Environment): string | undefined {
  return flag ?? (environment["CLUSTERS_FILE"] || undefined);
}

/**
 * Returns the clusters file from the flag or the environment; throws a `ConfigurationError` if neither names
 * one.
 */
export function requireClustersFile(flag: string | undefined, environment: Environment): string {
  const file = findClustersFile(flag, environment);
  if (file !== undefined) return file;
  const message = "is missing: give it, or set CLUSTERS_FILE";
  throw new ConfigurationError([{ name: "--clusters-file", message }]);
}

/** Converts the faults of a clusters file, each with its location. */
export function toConfigurationFaults(
  file: string,
  faults: readonly ClustersFileIssue[],
): ConfigurationFault[] {
  return faults.map((fault) => ({ name: formatFaultPlace(file, fault), message: fault.message }));
}

/** Converts an error of reading a clusters file to faults; rethrows any other error. */
export function toReadFaults(file: string, error: unknown): ConfigurationFault[] {
  if (!(error instanceof ClustersFileError)) throw error;
  return toConfigurationFaults(file, error.faults);
}

/** A folder that contains tokens, and the parts started in it. */
interface SecretFolder {
  /** Closes a part with the folder, before earlier parts; returns the part. */
  closing<T extends { close(): Promise<void> }>(part: T): T;
  /** Closes all parts, the last one first, and removes the folder. */
  close(): Promise<void>;
}

/**
 * Opens a newly created folder, which is removed when it is closed or when this process ends, even on a
 * signal.
 */
export function openSecretFolder(folder: string): SecretFolder {
  const remove = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  process.once("exit", remove);
  const closers: (() => Promise<void>)[] = [
    async () => {
      remove();
      process.off("exit", remove);
    },
  ];
  return {
    closing(part) {
      closers.unshift(() => part.close());
      return part;
    },
    async close() {
      for (const closePart of closers.splice(0)) await closePart();
    },
  };
}
