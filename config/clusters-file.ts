import * as z from "zod";
import { Cluster } from "#config/cluster.ts";
import { checkWriting, type WrittenFault } from "#config/fault-words.ts";
import { isStockForm } from "#config/stock-form.ts";
import { type ParsedYaml, type Position, parseYaml } from "#config/yaml-text.ts";
import { ClusterName } from "#core/event.ts";
import { type Fault, pathOf } from "#core/faults.ts";

/** What a clusters file says: the clusters that can be used, and the entries that cannot. */
export interface ClustersFile {
  /** The oldest first, as far as the home knows. */
  readonly clusters: readonly Cluster[];
  readonly faulty: readonly FaultyEntry[];
}

/** An entry that is no cluster; the others of the file are none the worse for it. */
export interface FaultyEntry {
  /** Undefined where not even that can be told. */
  readonly name: string | undefined;
  readonly faults: readonly ClustersFault[];
  /** Why an entry that could be used by itself is not, where that is because of another one. */
  readonly held?: HeldReason;
}

/** Codes of entries that another one keeps from being served: its cloud, or its name, is the other's. */
export const HELD_REASONS = ["SameOwnership", "SameName"] as const;
export type HeldReason = (typeof HELD_REASONS)[number];

/** One thing that is wrong with a clusters file, by its path in there and by where that stands. */
export interface ClustersFault extends Fault, Partial<Position> {
  /** What it is about, such as `cluster tenant-b: server`; of the whole file where there is none. */
  readonly subject?: string;
  /** Which of a home's documents it is in, where each entry is one of its own. */
  readonly document?: string;
}

/** Why no cluster of a file can be had: `Unreadable`, `TooLarge`, or `Invalid` with every fault that was found. */
export class ClustersFileError extends Error {
  override readonly name = "ClustersFileError";
  readonly code: "Unreadable" | "TooLarge" | "Invalid";
  readonly file: string;
  readonly faults: readonly ClustersFault[];

  constructor(
    code: ClustersFileError["code"],
    file: string,
    faults: readonly ClustersFault[],
    cause?: unknown,
  ) {
    super(`${isFile(file) ? "clusters file " : ""}${sentenceOf(file, faults)}`, { cause });
    this.code = code;
    this.file = file;
    this.faults = faults;
  }
}

/** Whether what `--clusters-file` names is a file; other homes have a word and a colon before anything that a path begins with. */
export function isFile(reference: string): boolean {
  return !/^(ssm|kubernetes):/.test(reference);
}

/** Faults in one line, each as compilers write them: `clusters.yaml:12:5: cluster tenant-b: server: …`. */
export function sentenceOf(file: string, faults: readonly ClustersFault[]): string {
  return faults.map((fault) => faultLine(file, fault)).join("; ");
}

/** A fault in one line, as compilers write it. */
export function faultLine(file: string, fault: ClustersFault): string {
  return `${placeOf(file, fault)}: ${fault.message}`;
}

/** Where a fault is and what it is about. */
export function placeOf(file: string, { line, column, subject, document = file }: ClustersFault): string {
  const place = line === undefined ? document : `${document}:${line}:${column}`;
  return subject === undefined ? place : `${place}: ${subject}`;
}

/** A hundred clusters are 100 KB. */
export const MAX_CLUSTERS_FILE_BYTES = 4 * 1024 * 1024;

/**
 * Reads the text of a file in YAML (or JSON), entry by entry. Throws `ClustersFileError` where it is no list of entries
 * at all; `clusters: []` is one, and says that there are no clusters. Two entries of one name are both faulty: nobody can tell which of them is meant.
 */
export function parseClustersFile(text: string, file: string): ClustersFile {
  if (text.length > MAX_CLUSTERS_FILE_BYTES) throw tooLarge(file);
  const { value, positionOf } = writtenIn(text, file);
  const checked = checkWriting(Document, value);
  if (checked.kind === "faulty") {
    const faults = checked.faults.map(({ path, message }): ClustersFault => {
      const subject = pathOf(path);
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
    else faulty.push({ name, faults: all.map((fault) => placed(fault, index, name)).sort(byPosition) });
  }
  return { clusters, faulty };

  function placed({ path, message }: EntryFault, index: number, name: string | undefined): ClustersFault {
    const whole = ["clusters", index, ...path];
    const who = name === undefined ? `entry ${index + 1}` : `cluster ${name}`;
    const subject = [who, ...(path.length === 0 ? [] : [pathOf(path)])].join(": ");
    return { path: pathOf(whole), ...positionOf(whole), subject, message };
  }

  function sameName(twins: readonly number[]): EntryFault {
    const lines = twins.map((twin) => positionOf(["clusters", twin, "name"]).line);
    const where = `line${lines.length > 1 ? "s" : ""} ${lines.join(", ")}`;
    return { path: ["name"], message: `the same name as in ${where}; names are unique in the file` };
  }
}

/** The error of a file that is larger than any that is meant. */
export function tooLarge(file: string): ClustersFileError {
  const message = `larger than ${MAX_CLUSTERS_FILE_BYTES} bytes`;
  return new ClustersFileError("TooLarge", file, [{ path: "", message }]);
}

const Document = z.strictObject({ clusters: z.array(z.unknown()) });
const Named = z.looseObject({ name: ClusterName });

const EMPTY: ClustersFault = {
  path: "",
  message: "empty; a list is expected, each with its name, server and cloud, under the key clusters",
};

/** An entry that is written by itself, in a document of its own. */
export interface EntryDocument {
  /** Where, for messages. */
  readonly document: string;
  /** The name that the document's own place gives the cluster; the entry has to have it, too. */
  readonly name: string;
  readonly text: string;
  /** Returns what is wrong with an entry that is whole, because of where it stands. */
  readonly check?: (cluster: Cluster) => readonly EntryFault[];
}

/** Reads the text of one entry in YAML (or JSON). What is faulty has the name of its place, whatever it says itself. */
export function parseEntryDocument({ document, name, text, check }: EntryDocument): Cluster | FaultyEntry {
  const fault = ({ path, message, ...place }: EntryFault & Partial<Position>): ClustersFault => {
    const subject = [`cluster ${name}`, ...(path.length === 0 ? [] : [pathOf(path)])].join(": ");
    return { path: pathOf(path), ...place, subject, document, message };
  };
  const parsed = parseYaml(text);
  if (parsed.kind === "faults")
    return { name, faults: parsed.faults.map((each) => fault({ path: [], ...each })) };
  const { cluster, faults } = parseEntry(parsed.value);
  const ofCluster = (whole: Cluster): readonly EntryFault[] => [
    ...(whole.name === name ? [] : [otherName(whole.name, name)]),
    ...(check?.(whole) ?? []),
  ];
  const all = cluster === undefined ? faults : ofCluster(cluster);
  if (cluster !== undefined && all.length === 0) return cluster;
  const placed = all.map((each) => fault({ ...each, ...parsed.positionOf(each.path) }));
  return { name, faults: placed.sort(byPosition) };
}

function otherName(own: string, expected: string): EntryFault {
  return {
    path: ["name"],
    message: `"${own}" stands where the cluster ${expected} is written down; the two names have to be the same`,
  };
}

/** Whether an entry is one of those that cannot be used. */
export function isFaulty(entry: Cluster | FaultyEntry): entry is FaultyEntry {
  return "faults" in entry;
}

/** Whether there is no entry at all, usable or not. */
export function hasNoEntries({ clusters, faulty }: ClustersFile): boolean {
  return clusters.length + faulty.length === 0;
}

/** The error of a home that had clusters, and has no entry any more: rather somebody's mistake than the end of all clusters. */
export function allAreGone(home: string): ClustersFileError {
  const message = "all clusters are gone from it at once; where that is meant, end what follows them";
  return new ClustersFileError("Invalid", home, [{ path: "", message }]);
}

/** What single entries come to together. */
export function clustersFileOf(entries: readonly (Cluster | FaultyEntry)[]): ClustersFile {
  const isUsable = (entry: Cluster | FaultyEntry): entry is Cluster => !isFaulty(entry);
  return { clusters: entries.filter(isUsable), faulty: entries.filter(isFaulty) };
}

/** By its path in the entry. */
type EntryFault = WrittenFault;

function byPosition(a: Partial<Position>, b: Partial<Position>): number {
  return (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
}

interface ParsedEntry {
  readonly name: string | undefined;
  readonly cluster: Cluster | undefined;
  readonly faults: readonly EntryFault[];
}

function parseEntry(written: unknown): ParsedEntry {
  const name = Named.safeParse(written).data?.name;
  const parsed = Cluster.safeParse(written);
  if (parsed.success) return { name, cluster: parsed.data, faults: [] };
  return { name, cluster: undefined, faults: parsed.error.issues };
}

function writtenIn(text: string, file: string): Extract<ParsedYaml, { readonly kind: "value" }> {
  if (isStockForm(text)) throw new ClustersFileError("Invalid", file, [IN_STOCK_FORM]);
  const parsed = parseYaml(text);
  if (parsed.kind === "value") return parsed;
  const faults = parsed.faults.map((fault) => ({ path: "", ...fault }));
  throw new ClustersFileError("Invalid", file, faults);
}

const IN_STOCK_FORM: ClustersFault = {
  path: "",
  line: 1,
  column: 1,
  message:
    "this is INI, as the stock controller's cloud-config is; a clusters file is YAML, and what stood in that file stands under each cluster's cloud key",
};
