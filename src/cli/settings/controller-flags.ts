import type { ConfigurationFault } from "#cli/configuration-error.ts";
import { type DurationRange, readDuration } from "#cli/settings/read-duration.ts";
import type { ClusterEntry } from "#config/cluster.ts";
import type { ControllerName } from "#core/event.ts";
import { RouteSettings } from "#core/route/settings.ts";
import { sanitizeText } from "#core/sanitize-text.ts";
import { TaggingSettings } from "#core/tagging/settings.ts";
import { taggingWatch } from "#core/tagging/watch.ts";

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

/** The flags about routes, as typed; a switch without a value is `true`. */
export interface RouteFlags {
  readonly configureCloudRoutes?: string | true | undefined;
  readonly clusterCidr?: string | undefined;
  readonly routeReconciliationPeriod?: string | undefined;
}

/** A cluster's `routes:` as a clusters file with the same settings has it. */
type WrittenRoutes = NonNullable<ClusterEntry["routes"]>;

/** Reads the given flags, and nothing for missing ones, because a cluster's hash covers what is written. */
export function readRouteFlags(flags: RouteFlags, faults: ConfigurationFault[]): WrittenRoutes | undefined {
  const configure = readSwitch("--configure-cloud-routes", flags.configureCloudRoutes, faults);
  const reconciliationSeconds = readDuration(
    "--route-reconciliation-period",
    flags.routeReconciliationPeriod,
    PERIOD,
    faults,
  );
  const clusterCIDRs = readClusterCIDRs(flags.clusterCidr, faults);
  return dropUndefined({ configure, clusterCIDRs, reconciliationSeconds });
}

const PERIOD: DurationRange = { from: 10, to: 86_400, words: "10s to 24h", examples: "10s, 10m or 1h" };

/** Reads a list in the stock controller's format: one network, or one of each family. */
function readClusterCIDRs(text: string | undefined, faults: ConfigurationFault[]): string[] | undefined {
  if (text === undefined) return undefined;
  const clusterCIDRs = text.trim().split(",");
  const parsed = RouteSettings.safeParse({ clusterCIDRs });
  if (parsed.success) return clusterCIDRs;
  const message = `"${sanitizeText(text)}" cannot be used; give one network such as 10.128.0.0/14, or one of IPv4 and one of IPv6 with a comma between`;
  faults.push({ name: "--cluster-cidr", message });
  return undefined;
}

/** The flags about tags of instances, as typed. */
export interface TaggingFlags {
  readonly tags?: string | undefined;
  readonly resources?: string | undefined;
}

/** A cluster's `tagging:` as a clusters file with the same settings has it. */
type WrittenTagging = NonNullable<ClusterEntry["tagging"]>;

/** Reads the given flags, and nothing for missing ones, because a cluster's hash covers what is written. */
export function readTaggingFlags(
  { tags: written, resources: list }: TaggingFlags,
  controllers: readonly ControllerName[],
  faults: ConfigurationFault[],
): WrittenTagging | undefined {
  if (written === undefined && controllers.includes(taggingWatch.name))
    faults.push({
      name: "--tags",
      message: `is required with the controller ${taggingWatch.name}: KEY=VALUE`,
    });
  if (written === undefined && list === undefined) return undefined;
  const tags = written === undefined ? undefined : parsePairs(written, faults);
  const resources = list?.split(",");
  const parsed = TaggingSettings.safeParse({ tags, resources });
  if (parsed.success)
    return {
      ...(tags === undefined ? {} : { tags }),
      ...(list === undefined ? {} : { resources: parsed.data.resources }),
    };
  for (const { path, message } of parsed.error.issues) {
    const [flag, ...rest] = path;
    const what = rest.length === 0 ? "" : `"${sanitizeText(rest.join("."))}": `;
    faults.push({ name: `--${String(flag)}`, message: `${what}${message}` });
  }
  return undefined;
}

/** Parses pairs in the stock controller's format: the first `=` of each ends the key. */
function parsePairs(written: string, faults: ConfigurationFault[]): Record<string, string> {
  const pairs: Record<string, string> = {};
  for (const pair of written.split(",")) {
    const end = pair.indexOf("=");
    if (end > 0) pairs[pair.slice(0, end)] = pair.slice(end + 1);
    else
      faults.push({
        name: "--tags",
        message: `"${sanitizeText(pair)}" is no tag; write KEY=VALUE, with a comma between`,
      });
  }
  return pairs;
}
