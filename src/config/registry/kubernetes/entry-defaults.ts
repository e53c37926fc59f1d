import * as z from "zod";
import { ClustersFileError } from "#config/clusters-file.ts";
import { checkWriting } from "#config/describe-errors.ts";
import { describeFileError, readSmallFile } from "#config/read-small-file.ts";
import { parseYaml } from "#config/yaml-text.ts";
import { formatPath } from "#core/config-errors.ts";

/** The operator's defaults for the entries of discovered clusters. */
export interface EntryDefaults {
  /**
   * Returns the defaults with `${name}` and `${namespace}` replaced by those of the cluster in every text.
   */
  forCluster(of: { readonly name: string; readonly namespace: string }): Readonly<Record<string, unknown>>;
}

export const NO_DEFAULTS: EntryDefaults = { forCluster: () => ({}) };

/** The name and the API server are specific to each cluster and have no default. */
const Written = z.record(z.string(), z.unknown());
const OWN_KEYS = ["name", "server", "certificateAuthorityFile", "certificateAuthorityData", "tlsServerName"];

const MAX_BYTES = 1024 * 1024;

/** Reads the file of defaults. Rejects with `ClustersFileError`. */
export async function readEntryDefaults(file: string): Promise<EntryDefaults> {
  const text = await readSmallFile(file, MAX_BYTES).catch((error: unknown) => {
    const fault = { path: "", message: `${describeFileError(error)}; see --cluster-defaults` };
    throw new ClustersFileError("Unreadable", file, [fault], error);
  });
  return parseEntryDefaults(text, file);
}

/**
 * Parses the text of defaults: an entry in YAML without the cluster-specific keys. Throws
 * `ClustersFileError`.
 */
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
        subject: formatPath([key]),
        message: "is each cluster's own, and no default",
      })),
    );
  const written = checked.value;
  return {
    forCluster: (of) => replacePlaceholders(written, of) as Readonly<Record<string, unknown>>,
  };
}

function replacePlaceholders(value: unknown, of: Readonly<Record<"name" | "namespace", string>>): unknown {
  if (typeof value === "string")
    return value.replaceAll(/\$\{(name|namespace)\}/g, (_, key: "name" | "namespace") => of[key]);
  if (Array.isArray(value)) return value.map((each) => replacePlaceholders(each, of));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, replacePlaceholders(each, of)]));
}
