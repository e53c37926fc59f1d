import { createHash } from "node:crypto";
import { open, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import * as yaml from "yaml";
import type { Cluster } from "#config/cluster.ts";
import {
  type ClustersFile,
  isFaulty,
  parseClustersFile,
  parseEntryDocument,
  sentenceOf,
} from "#config/clusters-file.ts";
import { readClustersText } from "#config/read-clusters-file.ts";

/** A change to a clusters file as text, or why it takes a person. */
export type Edited =
  | { readonly kind: "edited"; readonly before: string; readonly after: string }
  /** It says so already. */
  | { readonly kind: "same" }
  | { readonly kind: "refused"; readonly because: string };

/**
 * Sets `policies.dryRun` of one entry, and touches nothing else: a word that stands there is replaced in its place, and what is
 * not there yet is added with comments and order kept. Refused where anything else of the file would change with it.
 */
export function withDryRun(before: string, file: string, name: string, dryRun: boolean): Edited {
  const { clusters } = parseClustersFile(before, file);
  const cluster = clusters.find((each) => each.name === name);
  if (cluster === undefined) return refused(`${file} has no usable entry of the name ${name}`);
  if (cluster.policies.dryRun === dryRun) return { kind: "same" };
  const after = editedText(before, (document) => entryIn(document, name), dryRun);
  if (after === undefined || !isThatAlone(before, after, file, name, dryRun))
    return refused(
      `set policies.dryRun of ${name} to ${dryRun} by hand: it shares what is written with others`,
    );
  return { kind: "edited", before, after };
}

/** Sets `policies.dryRun` of an entry that stands by itself, in a document of its own; refused where it cannot be used. */
export function withDryRunInEntry(before: string, document: string, name: string, dryRun: boolean): Edited {
  const was = parseEntryDocument({ document, name, text: before });
  if (isFaulty(was)) return refused(sentenceOf(document, was.faults));
  if (was.policies.dryRun === dryRun) return { kind: "same" };
  const after = editedText(before, ({ contents }) => contents, dryRun);
  const is = after === undefined ? undefined : parseEntryDocument({ document, name, text: after });
  if (
    after === undefined ||
    is === undefined ||
    isFaulty(is) ||
    !isDeepStrictEqual(dryRunSet(was, dryRun), dryRunSet(is))
  )
    return refused(`set policies.dryRun of ${document} to ${dryRun} by hand: it cannot be changed alone`);
  return { kind: "edited", before, after };
}

/** A cluster but for its hash, which is of what is written. */
function dryRunSet({ hash: _, ...cluster }: Cluster, dryRun = cluster.policies.dryRun): object {
  return { ...cluster, policies: { ...cluster.policies, dryRun } };
}

/** Takes one entry out, and touches nothing else. Refused where anything else of the file would change with it. */
export function withoutCluster(before: string, file: string, name: string): Edited {
  const { clusters } = parseClustersFile(before, file);
  if (!clusters.some((each) => each.name === name))
    return refused(`${file} has no usable entry of the name ${name}`);
  const document = yaml.parseDocument(before);
  const entries = document.get("clusters");
  if (!yaml.isSeq(entries)) return refused(`take ${name} out by hand: \`clusters\` is not written as a list`);
  const place = entries.items.findIndex((item) => yaml.isMap(item) && item.get("name") === name);
  entries.items.splice(place, place < 0 ? 0 : 1);
  const after = textOf(document);
  return after !== undefined && isAllButThat(before, after, file, name)
    ? { kind: "edited", before, after }
    : refused(`take ${name} out by hand: it shares what is written with others`);
}

/** Adds an entry behind the last one, and touches nothing else. Refused where there is one of its name, usable or not. */
export function withCluster(before: string, file: string, entry: object): Edited {
  const name: unknown = Reflect.get(entry, "name");
  const was = parseClustersFile(before, file);
  if ([...was.clusters, ...was.faulty].some((each) => each.name === name))
    return refused(`there is an entry of the name ${name} already`);
  const document = yaml.parseDocument(before);
  const entries = document.get("clusters");
  if (!yaml.isSeq(entries)) return refused(`add ${name} by hand: \`clusters\` is not written as a list`);
  // Written as `[]`, it would go on in one line.
  if (entries.items.length === 0) entries.flow = false;
  entries.items.push(document.createNode(entry));
  const after = textOf(document);
  return after !== undefined && isAllButThat(after, before, file, `${name}`)
    ? { kind: "edited", before, after }
    : refused(`add ${name} by hand: the file cannot be written with it`);
}

/**
 * Writes an edited file in place of the one that was read, whole or not at all; rejects where it has changed since. Owner and mode stay
 * as they are, and a symbolic link goes on leading to the file.
 */
export async function replaceClustersFile(
  file: string,
  { before, after }: Extract<Edited, { readonly kind: "edited" }>,
): Promise<void> {
  const target = await realpath(file);
  const temporary = join(dirname(target), `.${basename(target)}.${process.pid}.tmp`);
  const { mode, uid, gid } = await stat(target);
  const handle = await open(temporary, "wx", mode & 0o777);
  try {
    try {
      await handle.chmod(mode & 0o777);
      const own = await handle.stat();
      if (own.uid !== uid || own.gid !== gid) await handle.chown(uid, gid);
      await handle.writeFile(after);
      await handle.sync();
    } finally {
      await handle.close();
    }
    if (digestOf(await readClustersText(file)) !== digestOf(before))
      throw new Error(`${file} has changed since it was read; nothing was written, so start again`);
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

function refused(because: string): Edited {
  return { kind: "refused", because };
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function entryIn(document: yaml.Document, name: string): unknown {
  const clusters = document.get("clusters");
  if (!yaml.isSeq(clusters)) return undefined;
  return clusters.items.find((item) => yaml.isMap(item) && item.get("name") === name);
}

function editedText(
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
  // A map that another entry refers to, or that is another's, cannot be changed for one of them.
  const policies = entry.get("policies", true);
  if (yaml.isAlias(policies)) return undefined;
  entry.setIn(["policies", "dryRun"], dryRun);
  return document.toString({ lineWidth: 0 });
}

/** A document without what its aliases stand for cannot be written. */
function textOf(document: yaml.Document): string | undefined {
  try {
    return document.toString({ lineWidth: 0 });
  } catch {
    return undefined;
  }
}

/** Whether the second lacks this entry, and has all others as they were. */
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

/** Whether the two differ in this alone, as relay and functions will read them. */
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
