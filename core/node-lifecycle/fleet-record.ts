import * as z from "zod";
import { faultsOf } from "#core/faults.ts";

/** The version of the record that this build reads and writes. */
export const FLEET_VERSION = 1;

/** So many deletions that nothing proves there may be in ten minutes, over all clusters that share a record. */
export const MAX_FLEET_DELETIONS = 20;

/** Of these one cluster has no more than so many: alone it never pulls the brake, and two clusters can. */
export const MAX_CLUSTER_DELETIONS = MAX_FLEET_DELETIONS / 2 + 1;

/** Characters of a record that are read: several times of what its bounds let it become. */
export const MAX_FLEET_CHARACTERS = 64_000;

const Moment = z.iso.datetime();
const ClusterName = z.string().min(1).max(253);
const Count = z.int().min(0);

/** A deletion that was let: written before the cluster itself is told of it, and long before the DELETE is sent. */
export const FleetDeletion = z.strictObject({
  cluster: ClusterName,
  /** The node's; with the cluster it says which deletion it is, so that one that is claimed again counts once. */
  uid: z.string().min(1).max(128),
  at: Moment,
});
export type FleetDeletion = z.output<typeof FleetDeletion>;

/** What the brake of the fleet was pulled by: too many deletions, or deletions in too many clusters. */
export const FleetLimit = z.enum(["Deletions", "Clusters"]);
export type FleetLimit = z.output<typeof FleetLimit>;

/** Pulled, since when and at what; nothing but `resetFleetBrake` lets it go. */
export const FleetBrake = z.strictObject({
  since: Moment,
  limit: FleetLimit,
  /** The cluster with whose deletion it would have been too much … */
  cluster: ClusterName,
  /** … the deletions that counted by then, in how many clusters, and those of that one that were not let. */
  deletions: Count,
  clusters: Count,
  waiting: Count,
});
export type FleetBrake = z.output<typeof FleetBrake>;

/** What all who delete nodes in a fleet of clusters share. */
export const FleetRecord = z.strictObject({
  version: z.literal(FLEET_VERSION),
  written: Moment.optional(),
  /** How many clusters there are, as the operator's last reset counted them; without it the stricter limit holds. */
  clusters: z.int().min(1).max(100_000).optional(),
  deletions: z.array(FleetDeletion).max(MAX_FLEET_DELETIONS).prefault([]),
  brake: FleetBrake.optional(),
});
export type FleetRecord = z.output<typeof FleetRecord>;

/** The record, or why what is there is none: nothing unproven is deleted then. */
export type ReadFleetRecord =
  | { readonly kind: "record"; readonly record: FleetRecord }
  /** `isForeign`: of another version, which is not to be replaced by this build. */
  | { readonly kind: "unusable"; readonly message: string; readonly isForeign: boolean };

/** Nothing was deleted, and the brake is not pulled. */
export function emptyFleetRecord(): FleetRecord {
  return { version: FLEET_VERSION, deletions: [] };
}

/** Reads a record; never throws. One that nothing was ever written to is empty. */
export function readFleetRecord(text: string): ReadFleetRecord {
  if (text === "") return { kind: "record", record: emptyFleetRecord() };
  const malformed = (what: string): ReadFleetRecord => ({
    kind: "unusable",
    message: `${what}: replace it by "serverless-ccm brake --fleet --reset"`,
    isForeign: false,
  });
  if (text.length > MAX_FLEET_CHARACTERS) return malformed(`has ${text.length} characters`);
  const json = parsedJson(text);
  const versioned = AnyVersion.safeParse(json);
  if (!versioned.success) return malformed("is no JSON object");
  if (versioned.data.version !== FLEET_VERSION)
    return {
      kind: "unusable",
      message: `is not of version ${FLEET_VERSION}, which this build writes: run one version`,
      isForeign: true,
    };
  const parsed = FleetRecord.safeParse(json);
  if (parsed.success) return { kind: "record", record: parsed.data };
  return malformed(`is not what was written: ${faultsOf(parsed.error)[0]?.message}`);
}

/** The record as it is stored. */
export function fleetRecordText(record: FleetRecord): string {
  return JSON.stringify(record);
}

const AnyVersion = z.looseObject({ version: z.unknown() });

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
