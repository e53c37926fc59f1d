import { hostname, userInfo } from "node:os";
import { namedClustersFile } from "#cli/clusters-file.ts";
import { ConfigurationError, type ConfigurationFault } from "#cli/configuration-error.ts";
import { type HomeSettingFlags, openAnyHome } from "#cli/management-cluster.ts";
import { stopLine } from "#cli/stop-status.ts";
import { namedStopSwitch, openAnySwitch, type StopSwitchFlags } from "#cli/stop-switch.ts";
import type { Environment } from "#clouds/kind.ts";
import { ClustersFileError } from "#config/clusters-file.ts";
import type { StopName } from "#config/switch/stops.ts";
import type { StopSwitch } from "#config/switch/switch.ts";
import { ClusterName } from "#core/event.ts";
import { jsonLine } from "#core/json-line.ts";
import { shown } from "#core/shown-text.ts";
import { StopKind } from "#core/stop.ts";

/** The flags of `stop`. */
export interface StopFlags extends StopSwitchFlags, HomeSettingFlags {
  readonly writes?: boolean | undefined;
  readonly deletes?: boolean | undefined;
  readonly cluster?: string | undefined;
  readonly all?: boolean | undefined;
  readonly resume?: boolean | undefined;
  /** Replaces a record that nobody can mean. */
  readonly force?: boolean | undefined;
  readonly clustersFile?: string | undefined;
  readonly json?: boolean | undefined;
}

type Write = (line: string) => void;

/** Everything together. */
const TIMEOUT_MS = 30_000;

/** Stops writes or deletes of one cluster or of all, or lets them go on, and says what is stopped then; without either it only says. */
export async function stop(
  flags: StopFlags,
  write: Write,
  environment: Environment = process.env,
): Promise<void> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const wanted = readWanted(flags);
  const reference = namedStopSwitch(flags, flags.clustersFile, environment);
  if (reference === undefined) throw new ConfigurationError([NO_SWITCH]);
  const stopSwitch = await openAnySwitch(reference, environment);
  const unsure = wanted.length === 0 || flags.resume ? undefined : await refuseUnknown(flags, environment);
  if (unsure !== undefined) write(unsure);
  for (const name of wanted) await change(stopSwitch, name, flags, signal);
  const stopped = await stopSwitch.read(signal);
  if (flags.json === true) return write(jsonLine({ switch: stopSwitch.name, stopped }));
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
    "is missing: the switch stands beside the clusters; give it, or set CLUSTERS_FILE, or name the switch by --stop-switch",
};

function change(
  stopSwitch: StopSwitch,
  name: StopName,
  flags: StopFlags,
  signal: AbortSignal,
): Promise<void> {
  if (flags.resume) return stopSwitch.change({ kind: "resume", name }, signal);
  const entry = { ...name, since: new Date().toISOString(), by: somebody() };
  return stopSwitch.change({ kind: "stop", entry, anew: flags.force === true }, signal);
}

/** What is to be stopped or resumed; nothing where the flags only ask. */
function readWanted({ writes, deletes, cluster, all, resume, force }: StopFlags): StopName[] {
  const faults: ConfigurationFault[] = [];
  const kinds = StopKind.options.filter((kind) => (kind === "writes" ? writes : deletes) === true);
  const isChange = kinds.length > 0;
  const without = (name: string): number =>
    faults.push({ name, message: "stands alone: say what, --writes or --deletes" });
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
    faults.push({ name: "--all", message: "stands beside --cluster; give one of the two" });
  if (cluster !== undefined && !ClusterName.safeParse(cluster).success)
    faults.push({ name: "--cluster", message: "is no name of a cluster" });
  if (faults.length > 0) throw new ConfigurationError(faults);
  return kinds.map((what) => ({ what, ...(cluster === undefined ? {} : { cluster }) }));
}

/** A name that no cluster has would stop nothing. Answers with what is to be said where nobody can tell. */
async function refuseUnknown(flags: StopFlags, environment: Environment): Promise<string | undefined> {
  const { cluster } = flags;
  const file = namedClustersFile(flags.clustersFile, environment);
  if (cluster === undefined || file === undefined) return undefined;
  try {
    const home = await openAnyHome(file, flags, []);
    if ((await home.byName()(cluster, { fresh: true })) !== undefined) return undefined;
  } catch (error) {
    if (!(error instanceof ClustersFileError)) throw error;
    // An entry that is faulty is one.
    if (error.code === "Invalid") return undefined;
    return `nobody can tell whether there is a cluster ${cluster}: ${shown(error.message, 500)}`;
  }
  throw new ConfigurationError([{ name: "--cluster", message: `${file} has no cluster ${cluster}` }]);
}

/** For the record; a machine without users has a name all the same. */
function somebody(): string {
  try {
    return `${userInfo().username}@${hostname()}`.slice(0, 128);
  } catch {
    return hostname().slice(0, 128);
  }
}
