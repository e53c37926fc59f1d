import { hostname, userInfo } from "node:os";
import { findClustersFile } from "#cli/clusters/clusters-file.ts";
import { openAnyRegistry, type RegistrySettingFlags } from "#cli/clusters/management-cluster.ts";
import { ConfigurationError } from "#cli/configuration-error.ts";
import { stopLine } from "#cli/deletion/stop-status.ts";
import { findStopSwitch, openAnySwitch, type StopSwitchFlags } from "#cli/deletion/stop-switch.ts";
import type { Environment } from "#clouds/provider.ts";
import { ClustersFileError } from "#config/clusters-file.ts";
import type { StopName, StopSwitch } from "#config/switch/stops.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";
import { ClusterName } from "#core/event.ts";
import { formatJsonLine } from "#core/log-text.ts";
import { sanitizeText } from "#core/sanitize-text.ts";
import { StopKind } from "#core/stop.ts";

/** The flags of `stop`. */
export interface StopFlags extends StopSwitchFlags, RegistrySettingFlags {
  readonly writes?: boolean | undefined;
  readonly deletes?: boolean | undefined;
  readonly cluster?: string | undefined;
  readonly all?: boolean | undefined;
  readonly resume?: boolean | undefined;
  /** Replaces a malformed record. */
  readonly force?: boolean | undefined;
  readonly clustersFile?: string | undefined;
  readonly json?: boolean | undefined;
}

type Write = (line: string) => void;

/** The time limit of the whole command. */
const TIMEOUT_MS = 30_000;

/**
 * Stops writes or deletions of one cluster or of all, or resumes them, and prints what is stopped then;
 * without either it only prints.
 */
export async function stop(
  flags: StopFlags,
  write: Write,
  environment: Environment = process.env,
): Promise<void> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const wanted = readWanted(flags);
  const reference = findStopSwitch(flags, flags.clustersFile, environment);
  if (reference === undefined) throw new ConfigurationError([NO_SWITCH]);
  const stopSwitch = await openAnySwitch(reference, environment);
  const unsure = wanted.length === 0 || flags.resume ? undefined : await refuseUnknown(flags, environment);
  if (unsure !== undefined) write(unsure);
  for (const name of wanted) await changeStop(stopSwitch, name, flags, signal);
  const stopped = await stopSwitch.read(signal);
  if (flags.json === true) return write(formatJsonLine({ switch: stopSwitch.name, stopped }));
  if (stopped.length === 0) write("nothing is stopped");
  for (const entry of stopped) write(stopLine(entry));
  if (wanted.length > 0)
    write(
      `by ${stopSwitch.name}; ${flags.resume ? "it goes on" : "it holds"} within 10 seconds${flags.resume ? "" : HOW_LONG}`,
    );
}

const HOW_LONG = ", and until the same command with --resume";

const NO_SWITCH: ConfigurationFault = {
  name: "--clusters-file",
  message:
    "is missing: the switch is next to the clusters; give it, or set CLUSTERS_FILE, or name the switch with --stop-switch",
};

function changeStop(
  stopSwitch: StopSwitch,
  name: StopName,
  flags: StopFlags,
  signal: AbortSignal,
): Promise<void> {
  if (flags.resume) return stopSwitch.change({ kind: "resume", name }, signal);
  const entry = { ...name, since: new Date().toISOString(), by: getUserName() };
  return stopSwitch.change({ kind: "stop", entry, anew: flags.force === true }, signal);
}

/** Returns what to stop or resume; undefined if the flags only ask. */
function readWanted({ writes, deletes, cluster, all, resume, force }: StopFlags): StopName[] {
  const faults: ConfigurationFault[] = [];
  const kinds = StopKind.options.filter((kind) => (kind === "writes" ? writes : deletes) === true);
  const isChange = kinds.length > 0;
  const without = (name: string): number => faults.push({ name, message: "requires --writes or --deletes" });
  if (!isChange && resume) without("--resume");
  if (!isChange && force) without("--force");
  if (!isChange && cluster !== undefined) without("--cluster");
  if (!isChange && all) without("--all");
  if (isChange && cluster === undefined && !all)
    faults.push({
      name: kinds.map((kind) => `--${kind}`).join(", "),
      message: "of which clusters? Give --cluster NAME, or --all",
    });
  if (cluster !== undefined && all)
    faults.push({ name: "--all", message: "cannot be combined with --cluster; give one of the two" });
  if (cluster !== undefined && !ClusterName.safeParse(cluster).success)
    faults.push({ name: "--cluster", message: "is not a name of a cluster" });
  if (faults.length > 0) throw new ConfigurationError(faults);
  return kinds.map((what) => ({ what, ...(cluster === undefined ? {} : { cluster }) }));
}

/**
 * Rejects a name that no cluster has, because it would stop nothing. Returns a note if that cannot be
 * checked.
 */
async function refuseUnknown(flags: StopFlags, environment: Environment): Promise<string | undefined> {
  const { cluster } = flags;
  const file = findClustersFile(flags.clustersFile, environment);
  if (cluster === undefined || file === undefined) return undefined;
  try {
    const registry = await openAnyRegistry(file, flags, []);
    if ((await registry.byName()(cluster, { fresh: true })) !== undefined) return undefined;
  } catch (error) {
    if (!(error instanceof ClustersFileError)) throw error;
    // A faulty entry still is an entry.
    if (error.code === "Invalid") return undefined;
    return `it is unknown whether cluster ${cluster} exists: ${sanitizeText(error.message, 500)}`;
  }
  throw new ConfigurationError([{ name: "--cluster", message: `${file} has no cluster ${cluster}` }]);
}

/** Returns a name for the record, even on a machine without users. */
function getUserName(): string {
  try {
    return `${userInfo().username}@${hostname()}`.slice(0, 128);
  } catch {
    return hostname().slice(0, 128);
  }
}
