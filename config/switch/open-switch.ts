import { dirname, join, parse } from "node:path";
import { isFile } from "#config/clusters-file.ts";
import { pathOfParameters } from "#config/home/ssm/ssm-home.ts";
import { StopSwitchError } from "#config/switch/error.ts";
import { fileSwitch } from "#config/switch/file.ts";
import { type ChangeParameters, ssmSwitch } from "#config/switch/ssm.ts";
import type { StopSwitch } from "#config/switch/switch.ts";

/**
 * The switch that `--stop-switch` or STOP_SWITCH names: `ssm:/PATH/`, which without `change` can be read alone, or a file. What names none
 * is a switch that nobody can read, so that it is reported where others are.
 */
export function openSwitch(reference: string, change?: ChangeParameters): StopSwitch {
  if (isFile(reference)) return fileSwitch(reference);
  const path = pathOfParameters(reference);
  if (path !== undefined) return ssmSwitch(path, { change });
  return noSwitch(reference);
}

/** The switch that stands beside a home of clusters, where none is named: `clusters.stop.json`, `ssm:/PATH-stop/`, or the same management cluster. */
export function switchBeside(clusters: string): string {
  if (isFile(clusters)) return join(dirname(clusters), `${parse(clusters).name}.stop.json`);
  const path = pathOfParameters(clusters);
  return path === undefined ? clusters : `ssm:${path.slice(0, -1)}-stop/`;
}

function noSwitch(reference: string): StopSwitch {
  const message = reference.startsWith("ssm:")
    ? "is no path of parameters; write it as ssm:/serverless-ccm/clusters-stop/, and not under /aws or /ssm"
    : "cannot be read here: a management cluster is read by the relay and the command line";
  const reject = (): Promise<never> => Promise.reject(new StopSwitchError("Unreadable", reference, message));
  return { name: reference, read: reject, change: reject };
}
