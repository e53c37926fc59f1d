import { findClustersFile, toReadFaults } from "#cli/clusters/clusters-file.ts";
import { openAnyRegistry, type RegistrySettingFlags } from "#cli/clusters/management-cluster.ts";
import { ConfigurationError } from "#cli/configuration-error.ts";
import { formatLine, formatTimeAgo } from "#cli/deletion/brake-lines.ts";
import { readFleetRecordFlag } from "#cli/deletion/fleet-record.ts";
import type { ResetResult } from "#cli/deletion/reset-brake.ts";
import { formatCounted, formatList } from "#cli/format-list.ts";
import type { Environment } from "#clouds/provider.ts";
import { describeMissingRecord, type RecordStore } from "#config/fleet-brake/fleet-brake.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";
import { formatJsonLine } from "#core/log-text.ts";
import {
  getMaxClusters,
  listDeletionClusters,
  resetFleetBrake,
  selectCountedDeletions,
} from "#core/node-lifecycle/fleet-brake.ts";
import {
  createFleetRecord,
  type FleetBrake,
  type FleetLimit,
  type FleetRecord,
  formatFleetRecord,
  MAX_FLEET_DELETIONS,
  readFleetRecord,
} from "#core/node-lifecycle/fleet-record.ts";

/** The flags of `brake --fleet`. */
export interface FleetBrakeFlags extends RegistrySettingFlags {
  readonly fleetBrake?: string | undefined;
  readonly reset?: boolean | undefined;
  readonly json?: boolean | undefined;
  /** The source of the number of clusters. */
  readonly clustersFile?: string | undefined;
}

/** The time limit of the whole command. */
const TIMEOUT_MS = 60_000;

/**
 * Shows the brake that all clusters share, and releases it on request; rejects if its record cannot be used.
 */
export async function runFleetBrake(
  name: string | undefined,
  flags: FleetBrakeFlags,
  write: (line: string) => void,
  environment: Environment = process.env,
): Promise<void> {
  const faults: ConfigurationFault[] = [];
  const store = readFleetRecordFlag(flags.fleetBrake, environment, faults);
  if (name !== undefined)
    faults.push({ name: "CLUSTER", message: "cannot be combined with --fleet, the brake of all clusters" });
  if (store === undefined && faults.length === 0)
    faults.push({ name: "--fleet-brake", message: "is required: name the record, such as s3://BUCKET/KEY" });
  if (store === undefined || faults.length > 0) throw new ConfigurationError(faults);
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const reset =
    flags.reset === true
      ? await releaseFleetBrake(store, await countClusters(flags, environment), signal)
      : undefined;
  const now = new Date();
  const summary = summarizeFleetBrake(await readUsableFleetRecord(store, signal), now);
  if (flags.json === true) return write(formatJsonLine({ record: store.name, ...summary, ...reset }));
  if (reset !== undefined) write(reset.message);
  for (const line of formatFleetBrake(summary, now)) write(line);
}

/** Returns the number of clusters without faulty entries; undefined if no registry is named. */
async function countClusters(flags: FleetBrakeFlags, environment: Environment): Promise<number | undefined> {
  const reference = findClustersFile(flags.clustersFile, environment);
  if (reference === undefined) return undefined;
  const faults: ConfigurationFault[] = [];
  const registry = await openAnyRegistry(reference, flags, faults);
  const content = await registry.read().catch((error: unknown) => {
    throw new ConfigurationError([...faults, ...toReadFaults(registry.name, error)]);
  });
  return content.clusters.length || undefined;
}

/** Functions write the record at most once for twenty deletions, and never while the brake holds. */
const MAX_ATTEMPTS = 5;

/**
 * Releases the fleet brake, and records the number of clusters if known. It creates a missing record and
 * replaces a malformed one, but neither for a record of another version. Rejects if that failed.
 */
export async function releaseFleetBrake(
  store: RecordStore,
  clusters: number | undefined,
  signal: AbortSignal,
): Promise<ResetResult> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const stored = await store.read(signal);
    const read = readFleetRecord(stored.kind === "absent" ? "" : stored.text);
    if (read.kind === "unusable" && read.isForeign)
      throw new Error(`the brake of the fleet was not reset: ${store.name} ${read.message}`);
    const record = read.kind === "record" ? read.record : createFleetRecord();
    const next = buildNextRecord(record, new Date(), clusters);
    const isNew = stored.kind === "absent" || stored.text === "" || read.kind === "unusable";
    if (!isNew && next === record)
      return { reset: false, message: `the brake of the fleet is not pulled: nothing was changed` };
    const version = stored.kind === "absent" ? undefined : stored.version;
    if (!(await store.swap(formatFleetRecord(next), version, signal))) continue;
    return { reset: true, message: formatMessage(store.name, isNew, record, next) };
  }
  throw new Error(
    `the brake of the fleet was not reset: another writer changed ${store.name} ${MAX_ATTEMPTS} times meanwhile; try again`,
  );
}

function buildNextRecord(record: FleetRecord, now: Date, clusters: number | undefined): FleetRecord {
  if (record.brake !== undefined) return resetFleetBrake(record, now, clusters);
  // What counts still counts if no operator has to act.
  return clusters === undefined || clusters === record.clusters ? record : { ...record, clusters };
}

function formatMessage(
  name: string,
  isNew: boolean,
  { brake }: FleetRecord,
  { clusters }: FleetRecord,
): string {
  if (isNew) return `${name} is made: deletions of all clusters that share it count from now on`;
  if (brake !== undefined)
    return `the brake of the fleet, pulled ${brake.since}, is released: deletions are counted from zero`;
  return `the brake of the fleet is not pulled; ${clusters} clusters are noted`;
}

/** Reads the current record; rejects a missing or unusable one and says what to do. */
async function readUsableFleetRecord(store: RecordStore, signal: AbortSignal): Promise<FleetRecord> {
  const stored = await store.read(signal);
  if (stored.kind === "absent") throw new Error(`${describeMissingRecord(store.name)}; ${UNTIL_THEN}`);
  const read = readFleetRecord(stored.text);
  if (read.kind === "record") return read.record;
  throw new Error(`${store.name} ${read.message}; ${UNTIL_THEN}`);
}

const UNTIL_THEN = "until then nothing is deleted that the cloud does not show as terminated";

/** A summary of a fleet's record at one time. */
interface FleetBrakeSummary {
  readonly brake: FleetBrake | undefined;
  /** Deletions of the last ten minutes, by cluster. */
  readonly deletions: Readonly<Record<string, number>>;
  readonly mostDeletions: number;
  readonly mostClusters: number;
  /** The number of clusters, if it was recorded. */
  readonly clusters: number | undefined;
  readonly written: string | undefined;
}

/** Summarizes the record. */
function summarizeFleetBrake(record: FleetRecord, now: Date): FleetBrakeSummary {
  const { brake, clusters, written } = record;
  const recent = selectCountedDeletions(record, now);
  const deletions = Object.fromEntries(
    [...listDeletionClusters(recent)].map((name) => [
      name,
      recent.filter(({ cluster }) => cluster === name).length,
    ]),
  );
  return {
    brake,
    deletions,
    mostDeletions: MAX_FLEET_DELETIONS,
    mostClusters: getMaxClusters(clusters),
    clusters,
    written,
  };
}

/** Formats the summary for people. */
function formatFleetBrake(summary: FleetBrakeSummary, now: Date): readonly string[] {
  const { brake, deletions, mostDeletions, clusters, written } = summary;
  const all = Object.entries(deletions);
  const sum = all.reduce((total, [, count]) => total + count, 0);
  const known = clusters === undefined ? "how many there are is not noted" : `there are ${clusters}`;
  return [
    formatLine(
      "fleet",
      brake === undefined ? "not pulled" : `pulled ${formatTimeAgo(brake.since, now)}: ${WHY[brake.limit]}`,
    ),
    ...(brake === undefined ? [] : [formatLine("", formatMoment(brake))]),
    formatLine(
      "10 minutes",
      `${formatCounted(sum, "deletion")} that ${sum === 1 ? "counts" : "count"}, of at most ${mostDeletions}`,
    ),
    formatLine("clusters", `${all.length} with such deletions, of at most ${summary.mostClusters}; ${known}`),
    ...(all.length === 0
      ? []
      : [
          formatLine(
            "of",
            formatList(
              all.map(([name, count]) => `${name} (${count})`),
              MAX_NAMED,
            ),
          ),
        ]),
    formatLine("written", written === undefined ? "never" : formatTimeAgo(written, now)),
  ];
}

const MAX_NAMED = 20;

const WHY: Readonly<Record<FleetLimit, string>> = {
  Deletions: "too many nodes in 10 minutes",
  Clusters: "nodes of too many clusters in 10 minutes",
};

function formatMoment({ deletions, clusters, cluster, waiting }: FleetBrake): string {
  return `${formatCounted(deletions, "deletion")} by then in ${formatCounted(clusters, "cluster")}, and ${formatCounted(waiting, "node")} of ${cluster} that would have gone too`;
}
