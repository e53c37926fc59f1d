import * as z from "zod";
import { ClustersFileError } from "#config/clusters-file.ts";
import { checkWriting } from "#config/fault-words.ts";
import { fileTrouble, readSmallFile } from "#config/read-small-file.ts";
import { parseYaml } from "#config/yaml-text.ts";
import { pathOf } from "#core/faults.ts";

/** What the entries of clusters that are found say where nothing else says it. */
export interface EntryDefaults {
  /** With `${name}` and `${namespace}` replaced by those of the cluster, wherever they stand in a text. */
  forCluster(of: { readonly name: string; readonly namespace: string }): Readonly<Record<string, unknown>>;
}

/** No defaults. */
export const NO_DEFAULTS: EntryDefaults = { forCluster: () => ({}) };

/** What is each cluster's own: its name, and where its API server is. */
const Written = z.record(z.string(), z.unknown());
const OWN_KEYS = ["name", "server", "certificateAuthorityFile", "certificateAuthorityData", "tlsServerName"];

const MAX_BYTES = 1024 * 1024;

/** Reads the file of defaults; rejects with `ClustersFileError`. */
export async function readEntryDefaults(file: string): Promise<EntryDefaults> {
  const text = await readSmallFile(file, MAX_BYTES).catch((error: unknown) => {
    const fault = { path: "", message: `${fileTrouble(error)}; see --cluster-defaults` };
    throw new ClustersFileError("Unreadable", file, [fault], error);
  });
  return parseEntryDefaults(text, file);
}

/** Reads the text of defaults: an entry in YAML, less what is each cluster's own. Throws `ClustersFileError`. */
export function parseEntryDefaults(text: string, file: string): EntryDefaults {
  const parsed = parseYaml(text);
  if (parsed.kind === "faults")
    throw new ClustersFileError(
      "Invalid",
      file,
      parsed.faults.map((fault) => ({ path: "", ...fault })),
    );
  const checked = checkWriting(Written, parsed.value);
  if (checked.kind === "faulty")
    throw new ClustersFileError("Invalid", file, [
      { path: "", message: "give a mapping of the keys of an entry" },
    ]);
  const own = OWN_KEYS.filter((key) => key in checked.value);
  if (own.length > 0)
    throw new ClustersFileError(
      "Invalid",
      file,
      own.map((key) => ({
        path: key,
        ...parsed.positionOf([key]),
        subject: pathOf([key]),
        message: "is each cluster's own, and no default",
      })),
    );
  const written = checked.value;
  return {
    forCluster: (of) => replaced(written, of) as Readonly<Record<string, unknown>>,
  };
}

function replaced(value: unknown, of: Readonly<Record<"name" | "namespace", string>>): unknown {
  if (typeof value === "string")
    return value.replaceAll(/\$\{(name|namespace)\}/g, (_, key: "name" | "namespace") => of[key]);
  if (Array.isArray(value)) return value.map((each) => replaced(each, of));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, replaced(each, of)]));
}
