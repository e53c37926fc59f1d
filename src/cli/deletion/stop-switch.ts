import { findClustersFile } from "#cli/clusters/clusters-file.ts";
import {
  connectManagement,
  parseManagementReference,
  readPodNamespace,
} from "#cli/clusters/management-cluster.ts";
import { logToStandardError } from "#cli/process.ts";
import type { Environment } from "#clouds/provider.ts";
import { lockFile } from "#config/file-lock.ts";
import { changeParameters, type ParameterWriter } from "#config/switch/change-parameters.ts";
import { createConfigMapSwitch } from "#config/switch/config-map.ts";
import { followStops, type StopsFollower } from "#config/switch/follow-stops.ts";
import { getDefaultSwitch, openSwitch } from "#config/switch/open-switch.ts";
import type { StopSwitch } from "#config/switch/stops.ts";
import type { Stop } from "#core/stop.ts";

/** The flag that names the switch. */
export interface StopSwitchFlags {
  readonly stopSwitch?: string | undefined;
}

/** The namespace of the relay that `infra/management` runs. */
const NAMESPACE = "serverless-ccm";

/**
 * Returns the switch from the flag, from STOP_SWITCH, or next to the clusters; undefined if none of these exists.
 */
export function findStopSwitch(
  { stopSwitch }: StopSwitchFlags,
  clustersFile: string | undefined,
  environment: Environment,
): string | undefined {
  const named = stopSwitch ?? (environment["STOP_SWITCH"] || undefined);
  if (named !== undefined) return named;
  const clusters = findClustersFile(clustersFile, environment);
  return clusters && getDefaultSwitch(clusters);
}

/** Returns the switch for a cluster that flags describe, whatever registry the environment names. */
export function findStopSwitchOfFlags(flags: StopSwitchFlags, environment: Environment): string | undefined {
  return findStopSwitch(flags, undefined, { STOP_SWITCH: environment["STOP_SWITCH"] });
}

/** Opens a switch, including one in a management cluster; nothing is read yet. */
export async function openAnySwitch(reference: string, environment: Environment): Promise<StopSwitch> {
  const management = parseManagementReference(reference);
  if (management === undefined)
    return openSwitch(reference, { parameters: changeParameters(openWriter), lockFile });
  const namespace = management.namespace ?? (await readPodNamespace(management, environment)) ?? NAMESPACE;
  return createConfigMapSwitch({ reference, namespace, connect: () => connectManagement(reference) });
}

/** A process's view of the switch that it follows. */
export interface FollowedSwitch extends StopsFollower {
  /** Stops reading the switch. */
  close(): void;
}

/**
 * Follows the switch of a reference. Resolves after the first read or its failure, so that nothing is sent
 * before. Undefined without a reference.
 */
export async function followSwitch(
  reference: string | undefined,
  environment: Environment,
): Promise<FollowedSwitch | undefined> {
  if (reference === undefined) return undefined;
  const ending = new AbortController();
  const stopSwitch = await openAnySwitch(reference, environment);
  const stops = followStops({ stopSwitch, signal: ending.signal, log: logToStandardError });
  await stops.begun;
  return { ...stops, close: () => ending.abort() };
}

/** Returns the stops for functions in this process. */
export function stopOfAll(
  stops: FollowedSwitch | undefined,
): ((cluster: string) => Promise<Stop | undefined>) | undefined {
  return stops && (async (name) => stops.get(name));
}

async function openWriter(): Promise<ParameterWriter> {
  return (await import("#platforms/aws/write-parameters.ts")).createParameterWriter();
}
