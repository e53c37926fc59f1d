import { createHash } from "node:crypto";
import { realpath, stat } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import * as yaml from "yaml";
import type { Cluster } from "#config/cluster.ts";
import {
  type ClustersFile,
  formatFaults,
  isFaulty,
  parseClustersFile,
  parseEntryDocument,
} from "#config/clusters-file.ts";
import { lockFile } from "#config/file-lock.ts";
import { readClustersText } from "#config/read-clusters-file.ts";

/** The edited text of a clusters file, or why a person must edit it. */
export type EditResult =
  | { readonly kind: "edited"; readonly before: string; readonly after: string }
  /** The file already has this content. */
  | { readonly kind: "same" }
  | { readonly kind: "refused"; readonly because: string };

/**
 * Sets `policies.applyDryRun` of one entry. An existing value is replaced in place; a missing key is added.
 * Comments and order are kept. Rejects an edit that would change anything else in the file.
 */
export function withDryRun(before: string, file: string, name: string, dryRun: boolean): EditResult {
  const { clusters } = parseClustersFile(before, file);
  const cluster = clusters.find((each) => each.name === name);
  if (cluster === undefined) return refuseEdit(`${file} has no usable entry of the name ${name}`);
  if (cluster.policies.dryRun === dryRun) return { kind: "same" };
  const after = editDryRun(before, (document) => findEntry(document, name), dryRun);
  if (after === undefined || !isThatAlone(before, after, file, name, dryRun))
    return refuseEdit(
      `set policies.dryRun of ${name} to ${dryRun} by hand: it shares what is written with others`,
    );
  return { kind: "edited", before, after };
}

/** Sets `policies.applyDryRun` of an entry in a document of its own. Rejects a faulty entry. */
export function withDryRunInEntry(
  before: string,
  document: string,
  name: string,
  dryRun: boolean,
): EditResult {
  const was = parseEntryDocument({ document, name, text: before });
  if (isFaulty(was)) return refuseEdit(formatFaults(document, was.faults));
  if (was.policies.dryRun === dryRun) return { kind: "same" };
  const after = editDryRun(before, ({ contents }) => contents, dryRun);
  const is = after === undefined ? undefined : parseEntryDocument({ document, name, text: after });
  if (
    after === undefined ||
    is === undefined ||
    isFaulty(is) ||
    !isDeepStrictEqual(setDryRun(was, dryRun), setDryRun(is))
  )
    return refuseEdit(`set policies.dryRun of ${document} to ${dryRun} by hand: it cannot be changed alone`);
  return { kind: "edited", before, after };
}

/** The hash is left out, because it depends on the text. */
function setDryRun({ hash: _, ...cluster }: Cluster, dryRun = cluster.policies.dryRun): object {
  return { ...cluster, policies: { ...cluster.policies, dryRun } };
}

/** Removes one entry. Rejects an edit that would change anything else in the file. */
export function removeEntry(before: string, file: string, name: string): EditResult {
  const { clusters } = parseClustersFile(before, file);
  if (!clusters.some((each) => each.name === name))
    return refuseEdit(`${file} has no usable entry of the name ${name}`);
  const document = yaml.parseDocument(before);
  const entries = document.get("clusters");
  if (!yaml.isSeq(entries))
    return refuseEdit(`take ${name} out by hand: \`clusters\` is not written as a list`);
  const place = entries.items.findIndex((item) => yaml.isMap(item) && item.get("name") === name);
  entries.items.splice(place, place < 0 ? 0 : 1);
  const after = formatDocument(document);
  return after !== undefined && isAllButThat(before, after, file, name)
    ? { kind: "edited", before, after }
    : refuseEdit(`take ${name} out by hand: it shares what is written with others`);
}

/**
 * Appends an entry. Rejects an entry whose name exists, and an edit that would change anything else in the
 * file.
 */
export function withCluster(before: string, file: string, entry: object): EditResult {
  const name: unknown = Reflect.get(entry, "name");
  const was = parseClustersFile(before, file);
  if ([...was.clusters, ...was.faulty].some((each) => each.name === name))
    return refuseEdit(`there is an entry of the name ${name} already`);
  const document = yaml.parseDocument(before);
  const entries = document.get("clusters");
  if (!yaml.isSeq(entries)) return refuseEdit(`add ${name} by hand: \`clusters\` is not written as a list`);
  // A list written as `[]` would continue in one line.
  if (entries.items.length === 0) entries.flow = false;
  entries.items.push(document.createNode(entry));
  const after = formatDocument(document);
  return after !== undefined && isAllButThat(after, before, file, `${name}`)
    ? { kind: "edited", before, after }
    : refuseEdit(`add ${name} by hand: the file cannot be written with it`);
}

/**
 * Replaces the clusters file atomically with the edited text. Rejects if the file has changed since it was
 * read. Keeps owner and mode; a symbolic link still points to the file.
 */
export async function replaceClustersFile(
  file: string,
  edit: Extract<EditResult, { readonly kind: "edited" }>,
): Promise<void> {
  const { before, after: text } = edit;
  const target = await realpath(file);
  const held = await lockFile(target);
  if (held === undefined)
    throw new Error(`${file} is being changed by another process; try again, or remove its .lock file`);
  try {
    const like = await stat(target);
    const isWanted = async (): Promise<boolean> =>
      hashText(await readClustersText(file)) === hashText(before);
    if (!(await held.replace({ text, like, isWanted })))
      throw new Error(`${file} has changed since it was read; nothing was written, so start again`);
  } finally {
    await held.unlock();
  }
}

function refuseEdit(because: string): EditResult {
  return { kind: "refused", because };
}

function hashText(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function findEntry(document: yaml.Document, name: string): unknown {
  const clusters = document.get("clusters");
  if (!yaml.isSeq(clusters)) return undefined;
  return clusters.items.find((item) => yaml.isMap(item) && item.get("name") === name);
}

function editDryRun(
  text: string,
  find: (document: yaml.Document) => unknown,
  dryRun: boolean,
): string | undefined {
  const document = yaml.parseDocument(text);
  const entry = find(document);
  if (!yaml.isMap(entry)) return undefined;
  const present = entry.getIn(["policies", "dryRun"], true);
  if (yaml.isScalar(present) && present.range) {
    const [start, end] = present.range;
    return `${text.slice(0, start)}${dryRun}${text.slice(end)}`;
  }
  // A map that another entry shares by an alias cannot be edited for one entry.
  const policies = entry.get("policies", true);
  if (yaml.isAlias(policies)) return undefined;
  entry.setIn(["policies", "dryRun"], dryRun);
  return document.toString({ lineWidth: 0 });
}

/** A document without the anchors of its aliases cannot be written. */
function formatDocument(document: yaml.Document): string | undefined {
  try {
    return document.toString({ lineWidth: 0 });
  } catch {
    return undefined;
  }
}

/** Whether the second text lacks this entry and has all others unchanged. */
function isAllButThat(before: string, after: string, file: string, name: string): boolean {
  const hashes = ({ clusters }: ClustersFile) => clusters.map((cluster) => [cluster.name, cluster.hash]);
  const [was, is] = [parseClustersFile(before, file), parseClustersFile(after, file)];
  return (
    is.faulty.length === was.faulty.length &&
    isDeepStrictEqual(
      hashes(is),
      hashes(was).filter(([each]) => each !== name),
    )
  );
}

/** Whether the two texts differ only in this entry, as relay and functions read them. */
function isThatAlone(before: string, after: string, file: string, name: string, dryRun: boolean): boolean {
  const without = ({ clusters, faulty }: ClustersFile) => ({
    clusters: clusters.map(({ hash, ...cluster }) =>
      cluster.name === name
        ? { ...cluster, policies: { ...cluster.policies, dryRun } }
        : { ...cluster, hash },
    ),
    faulty: faulty.map(({ name: faultyName, faults }) => [faultyName, faults.length]),
  });
  const written = parseClustersFile(after, file);
  return (
    written.clusters.some((cluster) => cluster.name === name && cluster.policies.dryRun === dryRun) &&
    isDeepStrictEqual(without(parseClustersFile(before, file)), without(written))
  );
}
