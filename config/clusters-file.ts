import * as yaml from "yaml";
import * as z from "zod";
import { Cluster } from "#config/cluster.ts";
import { ClusterName } from "#core/event.ts";
import { type Fault, faultsOf } from "#core/faults.ts";
import { messageOf } from "#core/message-of.ts";

/** What a clusters file says: the clusters that can be used, and the entries that cannot. */
export interface ClustersFile {
  readonly clusters: readonly Cluster[];
  readonly faulty: readonly FaultyEntry[];
}

/** An entry that is no cluster; the others of the file are none the worse for it. */
export interface FaultyEntry {
  /** Undefined where not even that can be told. */
  readonly name: string | undefined;
  /** By their paths in the file. */
  readonly faults: readonly Fault[];
}

/** Why no cluster of a file can be had: `Unreadable`, `TooLarge`, or `Invalid` with every fault that was found. */
export class ClustersFileError extends Error {
  override readonly name = "ClustersFileError";
  readonly code: "Unreadable" | "TooLarge" | "Invalid";
  readonly file: string;
  readonly faults: readonly Fault[];

  constructor(code: ClustersFileError["code"], file: string, faults: readonly Fault[], cause?: unknown) {
    super(`clusters file ${file}: ${sentenceOf(faults)}`, { cause });
    this.code = code;
    this.file = file;
    this.faults = faults;
  }
}

/** Faults in one line, each by its path. */
export function sentenceOf(faults: readonly Fault[]): string {
  return faults.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`)).join("; ");
}

/** A hundred clusters are 100 KB. */
export const MAX_CLUSTERS_FILE_BYTES = 4 * 1024 * 1024;

/**
 * Reads the text of a file in YAML (or JSON), entry by entry. Throws `ClustersFileError` where it is no list of entries
 * at all. Two entries of one name are both faulty: nobody can tell which of them is meant.
 */
export function parseClustersFile(text: string, file: string): ClustersFile {
  if (text.length > MAX_CLUSTERS_FILE_BYTES) throw tooLarge(file);
  const parsed = Document.safeParse(plainValue(text, file));
  if (!parsed.success) throw new ClustersFileError("Invalid", file, faultsOf(parsed.error));
  const entries = parsed.data.clusters.map(parseEntry);
  const placesOf = Map.groupBy(entries.keys(), (index) => entries[index]?.name);
  const clusters: Cluster[] = [];
  const faulty: FaultyEntry[] = [];
  for (const [index, { name, cluster, faults }] of entries.entries()) {
    const twin = name === undefined ? undefined : placesOf.get(name)?.find((place) => place !== index);
    const all = twin === undefined ? faults : [...faults, sameName(index, twin)];
    if (cluster === undefined || all.length > 0) faulty.push({ name, faults: all });
    else clusters.push(cluster);
  }
  return { clusters, faulty };
}

/** The error of a file that is larger than any that is meant. */
export function tooLarge(file: string): ClustersFileError {
  const message = `larger than ${MAX_CLUSTERS_FILE_BYTES} bytes`;
  return new ClustersFileError("TooLarge", file, [{ path: "", message }]);
}

const Document = z.strictObject({ clusters: z.array(z.unknown()).min(1) });
const Named = z.looseObject({ name: ClusterName });

interface ParsedEntry {
  readonly name: string | undefined;
  readonly cluster: Cluster | undefined;
  readonly faults: readonly Fault[];
}

function parseEntry(written: unknown, index: number): ParsedEntry {
  const name = Named.safeParse(written).data?.name;
  const parsed = Cluster.safeParse(written);
  if (parsed.success) return { name, cluster: parsed.data, faults: [] };
  const faults = faultsOf(parsed.error).map(({ path, message }) => ({
    path: `clusters[${index}]${path === "" || path.startsWith("[") ? "" : "."}${path}`,
    message,
  }));
  return { name, cluster: undefined, faults };
}

function sameName(index: number, twin: number): Fault {
  return { path: `clusters[${index}].name`, message: `the same name as that of clusters[${twin}]` };
}

function plainValue(text: string, file: string): unknown {
  const lineCounter = new yaml.LineCounter();
  const document = yaml.parseDocument(text, { uniqueKeys: true, prettyErrors: false, lineCounter });
  const faults = [...document.errors, ...document.warnings].map((fault) => ({
    path: `line ${lineCounter.linePos(fault.pos[0]).line}`,
    message: fault.message,
  }));
  if (faults.length > 0) throw new ClustersFileError("Invalid", file, faults);
  try {
    return document.toJS();
  } catch (cause) {
    // Aliases that multiply beyond the library's limit.
    const message = messageOf(cause);
    throw new ClustersFileError("Invalid", file, [{ path: "", message }], cause);
  }
}
