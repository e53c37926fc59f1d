import { dirname, join, parse } from "node:path";
import { isFile } from "#config/clusters-file.ts";
import { parseSsmPath } from "#config/registry/ssm/ssm-registry.ts";
import { createFileSwitch } from "#config/switch/file.ts";
import { type ChangeParameters, createSsmSwitch } from "#config/switch/ssm.ts";
import { StopSwitchError } from "#config/switch/stops.ts";
import type { StopSwitch } from "#config/switch/switch.ts";

/**
 * Opens the switch that `--stop-switch` or STOP_SWITCH names: `ssm:/PATH/`, read-only without `change`, or a
 * file. An invalid reference gives an unreadable switch, so that the error is reported like any other.
 */
export function openSwitch(reference: string, change?: ChangeParameters): StopSwitch {
  if (isFile(reference)) return createFileSwitch(reference);
  const path = parseSsmPath(reference);
  if (path !== undefined) return createSsmSwitch(path, { change });
  return createUnreadableSwitch(reference);
}

/**
 * Returns the default switch for a registry: `clusters.stop.json`, `ssm:/PATH-stop/`, or the same management
 * cluster.
 */
export function getDefaultSwitch(clusters: string): string {
  if (isFile(clusters)) return join(dirname(clusters), `${parse(clusters).name}.stop.json`);
  const path = parseSsmPath(clusters);
  return path === undefined ? clusters : `ssm:${path.slice(0, -1)}-stop/`;
}

function createUnreadableSwitch(reference: string): StopSwitch {
  const message = reference.startsWith("ssm:")
    ? "is no path of parameters; write it as ssm:/serverless-ccm/clusters-stop/, and not under /aws or /ssm"
    : "cannot be read here: a management cluster is read by the relay and the command line";
  const reject = (): Promise<never> => Promise.reject(new StopSwitchError("Unreadable", reference, message));
  return { name: reference, read: reject, change: reject };
}
