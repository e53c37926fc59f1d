import * as z from "zod";
import { StopSwitchError } from "#config/switch/error.ts";
import { ClusterName } from "#core/event.ts";
import { type Fault, faultsOf } from "#core/faults.ts";
import { type Stop, StopKind, tightest } from "#core/stop.ts";

/** One thing that an operator has stopped: of one cluster, or of all. */
export const StopEntry = z.strictObject({
  what: StopKind,
  /** All of them without it. */
  cluster: ClusterName.optional(),
  since: z.iso.datetime().optional(),
  /** Who said so, as far as the machine knows. */
  by: z.string().max(128).optional(),
});
export type StopEntry = z.output<typeof StopEntry>;

/** Which one is meant. */
export type StopName = Pick<StopEntry, "what" | "cluster">;

/** The version of the record that this build reads and writes. */
const VERSION = 1;

const MAX_ENTRIES = 10_000;
const Versioned = z.looseObject({ version: z.int() });
const StopRecord = z.strictObject({
  version: z.literal(VERSION),
  stopped: z.array(StopEntry).max(MAX_ENTRIES),
});

/** What a record says, as JSON text; throws a `StopSwitchError` where nobody can mean that, or a later version does. */
export function parseStops(home: string, text: string): readonly StopEntry[] {
  const value = jsonOf(home, text);
  const version = Versioned.safeParse(value);
  if (version.success && version.data.version !== VERSION)
    throw new StopSwitchError(
      "OtherVersion",
      home,
      `is of version ${version.data.version}, and this build knows ${VERSION}: run the version that wrote it`,
    );
  const parsed = StopRecord.safeParse(value);
  if (parsed.success) return parsed.data.stopped;
  throw malformed(home, faultsOf(parsed.error), readableStops(value));
}

/** What of a record can be read, and the most that each other entry may mean; undefined where it is no record. */
function readableStops(value: unknown): readonly StopEntry[] | undefined {
  const { data } = z.looseObject({ stopped: z.array(z.unknown()).max(MAX_ENTRIES) }).safeParse(value);
  return data?.stopped.map((entry) => StopEntry.safeParse(entry).data ?? assumeStop(entry));
}

/**
 * Returns the most that may be meant by what names no stop: writes where its kind is unknown, and all clusters where its cluster is. An
 * operator who has mistyped a stop has stopped too much, and reads of it, rather than nothing.
 */
export function assumeStop(entry: unknown): StopName {
  const { what, cluster } = z.looseObject({}).catch({}).parse(entry);
  const kind = StopKind.safeParse(what);
  const name = ClusterName.safeParse(cluster);
  return { what: kind.data ?? "writes", ...(name.success ? { cluster: name.data } : {}) };
}

/** The record as it is written. */
export function textOfStops(stopped: readonly StopEntry[]): string {
  return `${JSON.stringify({ version: VERSION, stopped }, undefined, 2)}\n`;
}

/** What holds for a cluster. */
export function stopIn(stopped: readonly StopEntry[], cluster: string): Stop | undefined {
  return tightest(...stopped.filter((entry) => isFor(entry, cluster)).map(({ what }) => what));
}

/** Whether an entry is about this cluster. */
export function isFor(entry: StopName, cluster: string): boolean {
  return entry.cluster === undefined || entry.cluster === cluster;
}

/** The entries with one more; one that is there already stays as it is. */
export function withStop(stopped: readonly StopEntry[], entry: StopEntry): readonly StopEntry[] {
  return stopped.some((each) => isSame(each, entry)) ? stopped : [...stopped, entry];
}

/** The entries without one. */
export function withoutStop(stopped: readonly StopEntry[], name: StopName): readonly StopEntry[] {
  return stopped.some((each) => isSame(each, name)) ? stopped.filter((each) => !isSame(each, name)) : stopped;
}

function isSame(one: StopName, other: StopName): boolean {
  return one.what === other.what && one.cluster === other.cluster;
}

function jsonOf(home: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw malformed(home, [{ path: "", message: "is no JSON" }]);
  }
}

const MAX_NAMED_FAULTS = 3;

function malformed(home: string, faults: readonly Fault[], stopped?: readonly StopEntry[]): StopSwitchError {
  const words = faults.slice(0, MAX_NAMED_FAULTS).map(({ path, message }) => `${path || "it"}: ${message}`);
  const message = `says what nobody can mean (${words.join("; ")})`;
  return new StopSwitchError("Malformed", home, message, stopped === undefined ? {} : { stopped });
}
