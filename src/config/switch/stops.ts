import * as z from "zod";
import { type ConfigError, listFaults } from "#core/config-errors.ts";
import { ClusterName } from "#core/event.ts";
import { type Stop, StopKind, selectTightestStop } from "#core/stop.ts";

/** One operator stop, for one cluster or for all. */
export const StopEntry = z.strictObject({
  what: StopKind,
  /** Default: all clusters. */
  cluster: ClusterName.optional(),
  since: z.iso.datetime().optional(),
  /** The operator, if the machine knows. */
  by: z.string().max(128).optional(),
});
export type StopEntry = z.output<typeof StopEntry>;

/** Identifies a stop. */
export type StopName = Pick<StopEntry, "what" | "cluster">;

/** The operators' store of stops: a file, SSM parameters, or a ConfigMap of a management cluster. */
export interface StopSwitch {
  /** As an operator writes it, for messages and logs. */
  readonly name: string;
  /** Reads all stops; rejects with `StopSwitchError` if they are unknown. */
  read(signal: AbortSignal): Promise<readonly StopEntry[]>;
  /**
   * Reads the stops of a cluster, and the others if that costs no more. Absent if `read` is always one
   * request. Rejects with `StopSwitchError`.
   */
  readonly readFor?: ((cluster: string, signal: AbortSignal) => Promise<StopsOfCluster>) | undefined;
  /**
   * Adds or removes one stop. Concurrent changes of other stops are kept. `anew` replaces an invalid record.
   * Rejects with `StopSwitchError`.
   */
  change(change: StopChange, signal: AbortSignal): Promise<void>;
}

/** The stops of a cluster, or of all clusters. */
export interface StopsOfCluster {
  readonly stopped: readonly StopEntry[];
  readonly isAll: boolean;
}

/** A change of the stops. */
export type StopChange =
  | { readonly kind: "stop"; readonly entry: StopEntry; readonly anew?: boolean }
  | { readonly kind: "resume"; readonly name: StopName };

/** The record version that this build reads and writes. */
const VERSION = 1;

const MAX_ENTRIES = 10_000;
const Versioned = z.looseObject({ version: z.int() });
const StopRecord = z.strictObject({
  version: z.literal(VERSION),
  stopped: z.array(StopEntry).max(MAX_ENTRIES),
});

/** Parses a record from JSON text. Throws a `StopSwitchError` for an invalid record or a later version. */
export function parseStops(registry: string, text: string): readonly StopEntry[] {
  const value = parseStopsJson(registry, text);
  const version = Versioned.safeParse(value);
  if (version.success && version.data.version !== VERSION)
    throw new StopSwitchError(
      "OtherVersion",
      registry,
      `is of version ${version.data.version}, and this build knows ${VERSION}: run the version that wrote it`,
    );
  const parsed = StopRecord.safeParse(value);
  if (parsed.success) return parsed.data.stopped;
  throw createMalformedError(registry, listFaults(parsed.error), parseReadableStops(value));
}

/**
 * Returns the readable stops of a record, and the most that each other entry may mean; undefined if it is not
 * a record.
 */
function parseReadableStops(value: unknown): readonly StopEntry[] | undefined {
  const { data } = z.looseObject({ stopped: z.array(z.unknown()).max(MAX_ENTRIES) }).safeParse(value);
  return data?.stopped.map((entry) => StopEntry.safeParse(entry).data ?? assumeStop(entry));
}

/**
 * Returns the widest stop that an invalid entry may mean: writes for an unknown kind, all clusters for an
 * unknown cluster. An operator's typing error then stops too much and is reported, instead of stopping
 * nothing.
 */
export function assumeStop(entry: unknown): StopName {
  const { what, cluster } = z.looseObject({}).catch({}).parse(entry);
  const kind = StopKind.safeParse(what);
  const name = ClusterName.safeParse(cluster);
  return { what: kind.data ?? "writes", ...(name.success ? { cluster: name.data } : {}) };
}

/** Formats the record. */
export function formatStops(stopped: readonly StopEntry[]): string {
  return `${JSON.stringify({ version: VERSION, stopped }, undefined, 2)}\n`;
}

/** Returns the stop of a cluster. */
export function stopIn(stopped: readonly StopEntry[], cluster: string): Stop | undefined {
  return selectTightestStop(...stopped.filter((entry) => isFor(entry, cluster)).map(({ what }) => what));
}

/** Whether an entry applies to this cluster. */
export function isFor(entry: StopName, cluster: string): boolean {
  return entry.cluster === undefined || entry.cluster === cluster;
}

/** Adds an entry; an existing one stays unchanged. */
export function withStop(stopped: readonly StopEntry[], entry: StopEntry): readonly StopEntry[] {
  return stopped.some((each) => isSame(each, entry)) ? stopped : [...stopped, entry];
}

/** Removes one entry. */
export function removeStop(stopped: readonly StopEntry[], name: StopName): readonly StopEntry[] {
  return stopped.some((each) => isSame(each, name)) ? stopped.filter((each) => !isSame(each, name)) : stopped;
}

function isSame(one: StopName, other: StopName): boolean {
  return one.what === other.what && one.cluster === other.cluster;
}

function parseStopsJson(registry: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw createMalformedError(registry, [{ path: "", message: "is not JSON" }]);
  }
}

const MAX_NAMED_FAULTS = 3;

function createMalformedError(
  registry: string,
  faults: readonly ConfigError[],
  stopped?: readonly StopEntry[],
): StopSwitchError {
  const words = faults.slice(0, MAX_NAMED_FAULTS).map(({ path, message }) => `${path || "it"}: ${message}`);
  const message = `has unknown entries (${words.join("; ")})`;
  return new StopSwitchError("Malformed", registry, message, stopped === undefined ? {} : { stopped });
}

/**
 * The stops are unknown or could not be changed. Codes of reading: `Unreadable`, `Malformed`, `OtherVersion`;
 * of writing: `NotWritten` and `Contended`.
 */
export class StopSwitchError extends Error {
  override readonly name = "StopSwitchError";
  readonly code: "Unreadable" | "Malformed" | "OtherVersion" | "NotWritten" | "Contended";
  /** The stops of the readable parts, and the most that each other part may mean. */
  readonly stopped: readonly StopEntry[] | undefined;
  /** Whether this process lacks the permission for that read. */
  readonly isDenied: boolean;

  constructor(
    code: StopSwitchError["code"],
    registry: string,
    message: string,
    {
      cause,
      stopped,
      isDenied = false,
    }: {
      readonly cause?: unknown;
      readonly stopped?: readonly StopEntry[];
      readonly isDenied?: boolean;
    } = {},
  ) {
    super(`the stop switch ${registry} ${message}`, { cause });
    this.code = code;
    this.stopped = stopped;
    this.isDenied = isDenied;
  }
}

/** The stops as last read. Plain data. */
export interface StopsRead {
  readonly stopped: readonly StopEntry[];
  /** Why a later read failed; undefined if none failed. */
  readonly unreadable?: { readonly code: string; readonly message: string } | undefined;
}
