import type { ConfigurationFault } from "#cli/configuration-error.ts";
import { type DurationRange, readDuration } from "#cli/read-duration.ts";
import type { ClusterEntry } from "#config/cluster.ts";
import { shown } from "#core/shown-text.ts";

/** The flags that say what happens to nodes that are not Ready, as typed; a switch without a value is `true`. */
export interface NodeFlags {
  readonly nodeMonitorPeriod?: string | undefined;
  readonly nodeDeletionGrace?: string | undefined;
  readonly deleteNodes?: string | true | undefined;
  readonly deleteUnseenNodes?: string | true | undefined;
}

/** A cluster's `nodes:` as it would stand in a clusters file that says no more. */
export type WrittenNodes = NonNullable<ClusterEntry["nodes"]>;

/** Reads what the flags say, and nothing where they say nothing: a cluster's hash is of what is written. */
export function readNodeFlags(flags: NodeFlags, faults: ConfigurationFault[]): WrittenNodes | undefined {
  const monitorSeconds = readDuration("--node-monitor-period", flags.nodeMonitorPeriod, MONITOR, faults);
  const graceSeconds = readDuration("--node-deletion-grace", flags.nodeDeletionGrace, GRACE, faults);
  const enabled = readSwitch("--delete-nodes", flags.deleteNodes, faults);
  const unseen = readSwitch("--delete-unseen-nodes", flags.deleteUnseenNodes, faults);
  if (enabled === false && unseen === true) {
    const message =
      "contradicts --delete-nodes=false: it says which nodes are deleted beside, and none is; leave one of the two out";
    faults.push({ name: "--delete-unseen-nodes", message });
  }
  const deletion = given({ enabled, unseen, graceSeconds });
  return given({ monitorSeconds, deletion });
}

/** As in the schema of the settings, which has the last word. */
const EXAMPLES = "5s, 30s or 1m0s";
const MONITOR: DurationRange = { from: 1, to: 60, words: "1s to 1m0s", examples: EXAMPLES };
const GRACE: DurationRange = { from: 1, to: 300, words: "1s to 5m0s", examples: EXAMPLES };

/** What Go's flags take for a truth value. */
const TRUE = ["1", "t", "T", "TRUE", "true", "True"];
const FALSE = ["0", "f", "F", "FALSE", "false", "False"];

/** Reads a switch in any of the words that Go takes. */
export function readSwitch(
  name: string,
  value: string | true | undefined,
  faults: ConfigurationFault[],
): boolean | undefined {
  if (value === undefined || value === true) return value;
  if (TRUE.includes(value)) return true;
  if (FALSE.includes(value)) return false;
  faults.push({ name, message: `"${shown(value)}" is neither; write true or false, as in ${name}=false` });
  return undefined;
}

/** Of members that may be undefined, those that are not. */
export type Given<Members> = { [Key in keyof Members]?: Exclude<Members[Key], undefined> };

/** The members that there are; undefined where there is none. */
export function given<Members extends object>(members: Members): Given<Members> | undefined {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined);
  return entries.length === 0 ? undefined : (Object.fromEntries(entries) as Given<Members>);
}
