import { namedClustersFile } from "#cli/clusters-file.ts";
import { logToStandardError } from "#cli/log-to-standard-error.ts";
import { connectManagement, namespaceOfPod, parseManagementReference } from "#cli/management-cluster.ts";
import type { Environment } from "#clouds/kind.ts";
import { changeParameters, type ParameterWriter } from "#config/switch/change-parameters.ts";
import { configMapSwitch } from "#config/switch/config-map.ts";
import { followStops, type StopsFollower } from "#config/switch/follow-stops.ts";
import { openSwitch, switchBeside } from "#config/switch/open-switch.ts";
import type { StopSwitch } from "#config/switch/switch.ts";
import type { Stop } from "#core/stop.ts";

/** The flag that names the switch, for commands that have it. */
export interface StopSwitchFlags {
  readonly stopSwitch?: string | undefined;
}

/** Where the relay is that `infra/management` runs. */
const NAMESPACE = "serverless-ccm";

/** The switch that the flag names, or STOP_SWITCH, or the one beside the clusters; undefined where there is none of these. */
export function namedStopSwitch(
  { stopSwitch }: StopSwitchFlags,
  clustersFile: string | undefined,
  environment: Environment,
): string | undefined {
  const named = stopSwitch ?? (environment["STOP_SWITCH"] || undefined);
  if (named !== undefined) return named;
  const clusters = namedClustersFile(clustersFile, environment);
  return clusters && switchBeside(clusters);
}

/** Opens it, a management cluster's among them; nothing is read yet. */
export async function openAnySwitch(reference: string, environment: Environment): Promise<StopSwitch> {
  const management = parseManagementReference(reference);
  if (management === undefined) return openSwitch(reference, changeParameters(openWriter));
  const namespace = management.namespace ?? (await namespaceOfPod(management, environment)) ?? NAMESPACE;
  return configMapSwitch({ reference, namespace, connect: () => connectManagement(reference) });
}

/** What a process knows of a switch that it follows. */
export interface FollowedSwitch extends StopsFollower {
  /** It is read no longer. */
  close(): void;
}

/**
 * Follows the switch that is named, from now on; resolves when it was read, or could not be, so that nothing is sent before. Undefined
 * where none is.
 */
export async function followNamedSwitch(
  flags: StopSwitchFlags,
  clustersFile: string | undefined,
  environment: Environment,
): Promise<FollowedSwitch | undefined> {
  const reference = namedStopSwitch(flags, clustersFile, environment);
  if (reference === undefined) return undefined;
  const ending = new AbortController();
  const stopSwitch = await openAnySwitch(reference, environment);
  const stops = followStops({ stopSwitch, signal: ending.signal, log: logToStandardError });
  await stops.begun;
  return { ...stops, close: () => ending.abort() };
}

/** The one for a cluster that flags describe, whatever home the environment names. */
export function followSwitchOfFlags(
  { stopSwitch }: StopSwitchFlags,
  environment: Environment,
): Promise<FollowedSwitch | undefined> {
  return followNamedSwitch({ stopSwitch: stopSwitch ?? environment["STOP_SWITCH"] }, undefined, {});
}

/** The same for functions in this process. */
export function stopOfAll(
  stops: FollowedSwitch | undefined,
): ((cluster: string) => Promise<Stop | undefined>) | undefined {
  return stops && (async (name) => stops.of(name));
}

async function openWriter(): Promise<ParameterWriter> {
  return (await import("#clouds/aws/write-parameters.ts")).createParameterWriter();
}
