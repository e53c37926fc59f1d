import type { ConfigurationFault } from "#cli/configuration-error.ts";
import { type DurationRange, readDuration } from "#cli/read-duration.ts";
import type { ClusterEntry } from "#config/cluster.ts";
import { sanitizeText } from "#core/sanitize-text.ts";

/** The flags about nodes that are not Ready, as typed; a switch without a value is `true`. */
export interface NodeFlags {
  readonly nodeMonitorPeriod?: string | undefined;
  readonly nodeDeletionGrace?: string | undefined;
  readonly deleteNodes?: string | true | undefined;
  readonly deleteUnseenNodes?: string | true | undefined;
}

/** A cluster's `nodes:` as a clusters file with the same settings has it. */
export type WrittenNodes = NonNullable<ClusterEntry["nodes"]>;

/** Reads the given flags, and nothing for missing ones, because a cluster's hash covers what is written. */
export function readNodeFlags(flags: NodeFlags, faults: ConfigurationFault[]): WrittenNodes | undefined {
  const monitorSeconds = readDuration("--node-monitor-period", flags.nodeMonitorPeriod, MONITOR, faults);
  const graceSeconds = readDuration("--node-deletion-grace", flags.nodeDeletionGrace, GRACE, faults);
  const enabled = readSwitch("--delete-nodes", flags.deleteNodes, faults);
  const unseen = readSwitch("--delete-unseen-nodes", flags.deleteUnseenNodes, faults);
  if (enabled === false && unseen === true) {
    const message =
      "contradicts --delete-nodes=false, with which no node is deleted; leave one of the two out";
    faults.push({ name: "--delete-unseen-nodes", message });
  }
  const deletion = dropUndefined({ enabled, unseen, graceSeconds });
  return dropUndefined({ monitorSeconds, deletion });
}

/** Examples that fit the schema of the settings, which makes the final check. */
const EXAMPLES = "5s, 30s or 1m0s";
const MONITOR: DurationRange = { from: 1, to: 60, words: "1s to 1m0s", examples: EXAMPLES };
const GRACE: DurationRange = { from: 1, to: 300, words: "1s to 5m0s", examples: EXAMPLES };

/** The values that Go's flags accept as true. */
const TRUE = ["1", "t", "T", "TRUE", "true", "True"];
const FALSE = ["0", "f", "F", "FALSE", "false", "False"];

/** Reads a switch in any spelling that Go accepts. */
export function readSwitch(
  name: string,
  value: string | true | undefined,
  faults: ConfigurationFault[],
): boolean | undefined {
  if (value === undefined || value === true) return value;
  if (TRUE.includes(value)) return true;
  if (FALSE.includes(value)) return false;
  faults.push({
    name,
    message: `"${sanitizeText(value)}" is neither; write true or false, as in ${name}=false`,
  });
  return undefined;
}

/** The members that are not undefined. */
export type DefinedMembers<Members> = { [Key in keyof Members]?: Exclude<Members[Key], undefined> };

/** Returns the defined members; undefined without any. */
export function dropUndefined<Members extends object>(members: Members): DefinedMembers<Members> | undefined {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined);
  return entries.length === 0 ? undefined : (Object.fromEntries(entries) as DefinedMembers<Members>);
}
