import * as z from "zod";
import { listFaults } from "#core/config-errors.ts";
import { parseJson } from "#core/parse-json.ts";

/** The version of the record that this build reads and writes. */
export const FLEET_VERSION = 1;

/** The maximum number of unproven deletions in ten minutes, over all clusters that share a record. */
export const MAX_FLEET_DELETIONS = 20;

/** The maximum number of unproven deletions in one cluster: one cluster never engages the brake, two can. */
export const MAX_CLUSTER_DELETIONS = MAX_FLEET_DELETIONS / 2 + 1;

/** The maximum length of a record in characters: several times its possible size. */
export const MAX_FLEET_CHARACTERS = 64_000;

const Moment = z.iso.datetime();
const ClusterName = z.string().min(1).max(253);
const Count = z.int().min(0);

/** An allowed deletion: recorded before the cluster's own state, and long before the DELETE is sent. */
export const FleetDeletion = z.strictObject({
  cluster: ClusterName,
  /** The node's uid. With the cluster it identifies the deletion, so that a repeated claim counts once. */
  uid: z.string().min(1).max(128),
  at: Moment,
});
export type FleetDeletion = z.output<typeof FleetDeletion>;

/** The limit that engaged the fleet brake: too many deletions, or deletions in too many clusters. */
export const FleetLimit = z.enum(["Deletions", "Clusters"]);
export type FleetLimit = z.output<typeof FleetLimit>;

/** An engaged brake: since when and by what. Only `resetFleetBrake` releases it. */
export const FleetBrake = z.strictObject({
  since: Moment,
  limit: FleetLimit,
  /** The cluster whose deletion would have exceeded the limit. */
  cluster: ClusterName,
  /** The deletions that counted then, the number of their clusters, and that cluster's rejected deletions. */
  deletions: Count,
  clusters: Count,
  waiting: Count,
});
export type FleetBrake = z.output<typeof FleetBrake>;

/** The record that all actors which delete nodes in a fleet share. */
export const FleetRecord = z.strictObject({
  version: z.literal(FLEET_VERSION),
  written: Moment.optional(),
  /**
   * The number of clusters, as counted at the operator's last reset; without it the stricter limit applies.
   */
  clusters: z.int().min(1).max(100_000).optional(),
  deletions: z.array(FleetDeletion).max(MAX_FLEET_DELETIONS).prefault([]),
  brake: FleetBrake.optional(),
});
export type FleetRecord = z.output<typeof FleetRecord>;

/** The record, or why it is unusable. Without a usable record the brake allows no unproven deletion. */
export type FleetRecordResult =
  | { readonly kind: "record"; readonly record: FleetRecord }
  /** `isForeign`: it has another version, which this build must not replace. */
  | { readonly kind: "unusable"; readonly message: string; readonly isForeign: boolean };

/** Returns a record without deletions and with the brake released. */
export function createFleetRecord(): FleetRecord {
  return { version: FLEET_VERSION, deletions: [] };
}

/** Parses a record; never throws. A record that was never written is empty. */
export function readFleetRecord(text: string): FleetRecordResult {
  if (text === "") return { kind: "record", record: createFleetRecord() };
  const malformed = (what: string): FleetRecordResult => ({
    kind: "unusable",
    message: `${what}: replace it by "serverless-ccm brake --fleet --reset"`,
    isForeign: false,
  });
  if (text.length > MAX_FLEET_CHARACTERS) return malformed(`has ${text.length} characters`);
  const json = parseJson(text);
  const versioned = AnyVersion.safeParse(json);
  if (!versioned.success) return malformed("is not a JSON object");
  if (versioned.data.version !== FLEET_VERSION)
    return {
      kind: "unusable",
      message: `does not have version ${FLEET_VERSION}, which this build writes: run one version`,
      isForeign: true,
    };
  const parsed = FleetRecord.safeParse(json);
  if (parsed.success) return { kind: "record", record: parsed.data };
  return malformed(`is not what was written: ${listFaults(parsed.error)[0]?.message}`);
}

/** Returns the record as stored. */
export function formatFleetRecord(record: FleetRecord): string {
  return JSON.stringify(record);
}

const AnyVersion = z.looseObject({ version: z.unknown() });

/** A deletion of a node whose instance is missing and not shown as terminated by the cloud. */
export interface UnprovenDeletion {
  readonly uid: string;
  /** Whether brakes count it: not if the autoscaler announced it. */
  readonly counted: boolean;
}

/** Why an unproven deletion is held beyond its cluster. */
export interface FleetHold {
  readonly code: FleetHoldCode;
  readonly message: string;
}

export type FleetHoldCode =
  | "FleetBrakeEngaged"
  | "FleetBrakeUnusable"
  | "FleetBrakeContended"
  /** This cluster alone is held; others continue. */
  | "FleetShareUsed";

/**
 * What an invocation knows about the fleet brake so far: its allowed deletions, and why no more are allowed.
 */
export interface FleetBrakeState {
  readonly granted: ReadonlySet<string>;
  readonly held: FleetHold | undefined;
}
