import { stat } from "node:fs/promises";
import * as yaml from "yaml";
import { type Cluster, type Clusters, ClustersFile } from "#config/cluster.ts";
import { readSmallFile } from "#config/read-small-file.ts";
import { type Fault, faultsOf } from "#core/faults.ts";
import { systemCode } from "#kube/client/errors.ts";

/** Why the clusters cannot be had: `Unreadable`, `TooLarge`, or `Invalid` with every fault of the file. */
export class ClustersFileError extends Error {
  override readonly name = "ClustersFileError";
  readonly code: "Unreadable" | "TooLarge" | "Invalid";
  readonly file: string;
  readonly faults: readonly Fault[];

  constructor(code: ClustersFileError["code"], file: string, faults: readonly Fault[], cause?: unknown) {
    const lines = faults.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
    super(`clusters file ${file}: ${lines.join("; ")}`, { cause });
    this.code = code;
    this.file = file;
    this.faults = faults;
  }
}

/** The clusters of a file in YAML (or JSON); throws `ClustersFileError` with all faults at once. */
export function parseClustersFile(text: string, file: string): readonly Cluster[] {
  if (text.length > MAX_BYTES) throw tooLarge(file);
  const lineCounter = new yaml.LineCounter();
  const document = yaml.parseDocument(text, { uniqueKeys: true, prettyErrors: false, lineCounter });
  const faults = [...document.errors, ...document.warnings].map((fault) => ({
    path: `line ${lineCounter.linePos(fault.pos[0]).line}`,
    message: fault.message,
  }));
  if (faults.length > 0) throw new ClustersFileError("Invalid", file, faults);
  const parsed = ClustersFile.safeParse(plainValue(document, file));
  if (parsed.success) return parsed.data.clusters;
  throw new ClustersFileError("Invalid", file, faultsOf(parsed.error));
}

/** The clusters of a file by name, and all of them. */
export type ClustersOfFile = Clusters & { readonly all: () => Promise<readonly Cluster[]> };

/**
 * Clusters out of a file, which is read again when it changes. Rejects with `ClustersFileError`: a file that became
 * faulty is not covered up with what stood in it before.
 */
export function readClustersFile(file: string): ClustersOfFile {
  let known: { readonly version: string; readonly clusters: ReadonlyMap<string, Cluster> } | undefined;
  const read = async (isFresh: boolean): Promise<ReadonlyMap<string, Cluster>> => {
    const version = await fileVersion(file);
    if (known === undefined || known.version !== version || isFresh) {
      const clusters = parseClustersFile(await readText(file), file);
      known = { version, clusters: new Map(clusters.map((cluster) => [cluster.name, cluster])) };
    }
    return known.clusters;
  };
  const byName: Clusters = async (name, options) => (await read(options?.fresh === true)).get(name);
  return Object.assign(byName, { all: async () => [...(await read(false)).values()] });
}

/** All clusters of a file, as they stand in it now; rejects with `ClustersFileError`. */
export async function readAllClusters(file: string): Promise<readonly Cluster[]> {
  return parseClustersFile(await readText(file), file);
}

/** A hundred clusters are 100 KB. */
const MAX_BYTES = 4 * 1024 * 1024;

function plainValue(document: yaml.Document, file: string): unknown {
  try {
    return document.toJS();
  } catch (cause) {
    // Aliases that multiply beyond the library's limit.
    const message = cause instanceof Error ? cause.message : String(cause);
    throw new ClustersFileError("Invalid", file, [{ path: "", message }], cause);
  }
}

/** Tells one state of the file from another; a mounted ConfigMap is swapped, so the file's identity counts too. */
async function fileVersion(file: string): Promise<string> {
  try {
    const { mtimeMs, size, ino } = await stat(file);
    return `${mtimeMs} ${size} ${ino}`;
  } catch (error) {
    throw unreadable(file, error);
  }
}

async function readText(file: string): Promise<string> {
  try {
    return await readSmallFile(file, MAX_BYTES);
  } catch (error) {
    throw systemCode(error) === "EFBIG" ? tooLarge(file) : unreadable(file, error);
  }
}

function tooLarge(file: string): ClustersFileError {
  return new ClustersFileError("TooLarge", file, [{ path: "", message: `larger than ${MAX_BYTES} bytes` }]);
}

function unreadable(file: string, cause: unknown): ClustersFileError {
  const message = `cannot be read (${systemCode(cause) ?? "unknown error"}); see CLUSTERS_FILE`;
  return new ClustersFileError("Unreadable", file, [{ path: "", message }], cause);
}
