import * as z from "zod";
import { Cluster } from "#config/cluster.ts";
import { checkWriting, type FieldError } from "#config/describe-errors.ts";
import { isStockForm, type ParsedYaml, type Position, parseYaml } from "#config/yaml-text.ts";
import { type ConfigError, formatPath } from "#core/config-errors.ts";
import { ClusterName } from "#core/event.ts";

/** The content of a clusters file: the usable clusters and the faulty entries. */
export interface ClustersFile {
  /** Oldest first, as far as the registry knows the age. */
  readonly clusters: readonly Cluster[];
  readonly faulty: readonly FaultyEntry[];
}

/** An invalid entry; it does not affect the other entries of the file. */
export interface FaultyEntry {
  /** Undefined if the name cannot be read. */
  readonly name: string | undefined;
  readonly faults: readonly ClustersFileIssue[];
  /** Why a valid entry is not served because of another entry. */
  readonly held?: HeldReason;
}

/**
 * Codes of entries that are not served because another entry has the same cloud resources or the same name.
 */
export const HELD_REASONS = ["SameOwnership", "SameName"] as const;
export type HeldReason = (typeof HELD_REASONS)[number];

/** One fault in a clusters file, with its path in the entry and its position in the text. */
export interface ClustersFileIssue extends ConfigError, Partial<Position> {
  /** The subject, such as `cluster tenant-b: server`; undefined for the whole file. */
  readonly subject?: string;
  /** The document with the fault, in a registry with one document for each entry. */
  readonly document?: string;
}

/**
 * Why a clusters file has no usable content: `Unreadable`, `TooLarge`, or `Invalid` with every fault found.
 */
export class ClustersFileError extends Error {
  override readonly name = "ClustersFileError";
  readonly code: "Unreadable" | "TooLarge" | "Invalid";
  readonly file: string;
  readonly faults: readonly ClustersFileIssue[];

  constructor(
    code: ClustersFileError["code"],
    file: string,
    faults: readonly ClustersFileIssue[],
    cause?: unknown,
  ) {
    super(`${isFile(file) ? "clusters file " : ""}${formatFaults(file, faults)}`, { cause });
    this.code = code;
    this.file = file;
    this.faults = faults;
  }
}

/** Whether `--clusters-file` names a file. References to other registries begin with a scheme and a colon. */
export function isFile(reference: string): boolean {
  return !/^(ssm|kubernetes):/.test(reference);
}

/** Formats faults in one line, each in the style of compilers: `clusters.yaml:12:5: cluster tenant-b: …`. */
export function formatFaults(file: string, faults: readonly ClustersFileIssue[]): string {
  return faults.map((fault) => formatFault(file, fault)).join("; ");
}

/** Formats one fault in the style of compilers. */
export function formatFault(file: string, fault: ClustersFileIssue): string {
  return `${formatFaultPlace(file, fault)}: ${fault.message}`;
}

/** Formats the position and the subject of a fault. */
export function formatFaultPlace(
  file: string,
  { line, column, subject, document = file }: ClustersFileIssue,
): string {
  const place = line === undefined ? document : `${document}:${line}:${column}`;
  return subject === undefined ? place : `${place}: ${subject}`;
}

/** A file of a hundred clusters has about 100 KB. */
export const MAX_CLUSTERS_FILE_BYTES = 4 * 1024 * 1024;

/**
 * Parses the text of a clusters file in YAML (or JSON), entry by entry. Throws `ClustersFileError` if the
 * text is not a list of entries; `clusters: []` is a valid empty list. Two entries with one name are both
 * faulty, because the intended one is unknown.
 */
export function parseClustersFile(text: string, file: string): ClustersFile {
  if (text.length > MAX_CLUSTERS_FILE_BYTES) throw createTooLargeError(file);
  const { value, positionOf } = parseText(text, file);
  const checked = checkWriting(Document, value);
  if (checked.kind === "faulty") {
    const faults = checked.faults.map(({ path, message }): ClustersFileIssue => {
      const subject = formatPath(path);
      return { path: subject, ...positionOf(path), ...(subject === "" ? {} : { subject }), message };
    });
    throw new ClustersFileError("Invalid", file, value === null ? [EMPTY] : faults);
  }
  const entries = checked.value.clusters.map(parseEntry);
  const placesOf = Map.groupBy(entries.keys(), (index) => entries[index]?.name);
  const clusters: Cluster[] = [];
  const faulty: FaultyEntry[] = [];
  for (const [index, { name, cluster, faults }] of entries.entries()) {
    const twins = name === undefined ? [] : (placesOf.get(name) ?? []).filter((place) => place !== index);
    const all = twins.length === 0 ? faults : [...faults, sameName(twins)];
    if (cluster !== undefined && all.length === 0) clusters.push(cluster);
    else faulty.push({ name, faults: all.map((fault) => placed(fault, index, name)).sort(comparePositions) });
  }
  return { clusters, faulty };

  function placed({ path, message }: EntryError, index: number, name: string | undefined): ClustersFileIssue {
    const whole = ["clusters", index, ...path];
    const who = name === undefined ? `entry ${index + 1}` : `cluster ${name}`;
    const subject = [who, ...(path.length === 0 ? [] : [formatPath(path)])].join(": ");
    return { path: formatPath(whole), ...positionOf(whole), subject, message };
  }

  function sameName(twins: readonly number[]): EntryError {
    const lines = twins.map((twin) => positionOf(["clusters", twin, "name"]).line);
    const where = `line${lines.length > 1 ? "s" : ""} ${lines.join(", ")}`;
    return { path: ["name"], message: `the same name as in ${where}; names are unique in the file` };
  }
}

/** Returns the error for a file beyond the size limit. */
export function createTooLargeError(file: string): ClustersFileError {
  const message = `larger than ${MAX_CLUSTERS_FILE_BYTES} bytes`;
  return new ClustersFileError("TooLarge", file, [{ path: "", message }]);
}

const Document = z.strictObject({ clusters: z.array(z.unknown()) });
const Named = z.looseObject({ name: ClusterName });

const EMPTY: ClustersFileIssue = {
  path: "",
  message: "empty; a list is expected, each with its name, server and cloud, under the key clusters",
};

/** An entry in a document of its own. */
export interface EntryDocument {
  /** Names the document in messages. */
  readonly document: string;
  /** The name that the document's location gives the cluster; the entry must have the same name. */
  readonly name: string;
  readonly text: string;
  /** Returns what is wrong with a valid entry because of its location. */
  readonly check?: (cluster: Cluster) => readonly EntryError[];
}

/**
 * Parses one entry in YAML (or JSON). A faulty entry gets the name of its location, not the name in its text.
 */
export function parseEntryDocument({ document, name, text, check }: EntryDocument): Cluster | FaultyEntry {
  const fault = ({ path, message, ...place }: EntryError & Partial<Position>): ClustersFileIssue => {
    const subject = [`cluster ${name}`, ...(path.length === 0 ? [] : [formatPath(path)])].join(": ");
    return { path: formatPath(path), ...place, subject, document, message };
  };
  const parsed = parseYaml(text);
  if (parsed.kind === "faults")
    return { name, faults: parsed.faults.map((each) => fault({ path: [], ...each })) };
  const { cluster, faults } = parseEntry(parsed.value);
  const ofCluster = (whole: Cluster): readonly EntryError[] => [
    ...(whole.name === name ? [] : [createNameError(whole.name, name)]),
    ...(check?.(whole) ?? []),
  ];
  const all = cluster === undefined ? faults : ofCluster(cluster);
  if (cluster !== undefined && all.length === 0) return cluster;
  const placed = all.map((each) => fault({ ...each, ...parsed.positionOf(each.path) }));
  return { name, faults: placed.sort(comparePositions) };
}

function createNameError(own: string, expected: string): EntryError {
  return {
    path: ["name"],
    message: `"${own}" stands where the cluster ${expected} is written down; the two names have to be the same`,
  };
}

/** Whether an entry is faulty. */
export function isFaulty(entry: Cluster | FaultyEntry): entry is FaultyEntry {
  return "faults" in entry;
}

/** Whether there are no entries, usable or faulty. */
export function hasNoEntries({ clusters, faulty }: ClustersFile): boolean {
  return clusters.length + faulty.length === 0;
}

/**
 * Returns the error for a registry that had clusters and now has no entry: probably a mistake, not the
 * removal of all clusters.
 */
export function createEmptyError(registry: string): ClustersFileError {
  const message = "all clusters are gone from it at once; where that is meant, end what follows them";
  return new ClustersFileError("Invalid", registry, [{ path: "", message }]);
}

/** Combines single entries to the content of a clusters file. */
export function buildClustersFile(entries: readonly (Cluster | FaultyEntry)[]): ClustersFile {
  const isUsable = (entry: Cluster | FaultyEntry): entry is Cluster => !isFaulty(entry);
  return { clusters: entries.filter(isUsable), faulty: entries.filter(isFaulty) };
}

type EntryError = FieldError;

function comparePositions(a: Partial<Position>, b: Partial<Position>): number {
  return (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
}

interface ParsedEntry {
  readonly name: string | undefined;
  readonly cluster: Cluster | undefined;
  readonly faults: readonly EntryError[];
}

function parseEntry(written: unknown): ParsedEntry {
  const name = Named.safeParse(written).data?.name;
  const parsed = Cluster.safeParse(written);
  if (parsed.success) return { name, cluster: parsed.data, faults: [] };
  return { name, cluster: undefined, faults: parsed.error.issues };
}

function parseText(text: string, file: string): Extract<ParsedYaml, { readonly kind: "value" }> {
  if (isStockForm(text)) throw new ClustersFileError("Invalid", file, [IN_STOCK_FORM]);
  const parsed = parseYaml(text);
  if (parsed.kind === "value") return parsed;
  const faults = parsed.faults.map((fault) => ({ path: "", ...fault }));
  throw new ClustersFileError("Invalid", file, faults);
}

const IN_STOCK_FORM: ClustersFileIssue = {
  path: "",
  line: 1,
  column: 1,
  message:
    "this is INI, as the stock controller's cloud-config is; a clusters file is YAML, and what stood in that file stands under each cluster's cloud key",
};
