import * as z from "zod";
import { LOAD_BALANCER_ANNOTATION } from "#core/contracts.ts";
import { hashText } from "#core/hash.ts";
import { parseJson } from "#core/parse-json.ts";
import type { Service } from "#core/service/service.ts";

/**
 * The state annotation on a Service, as JSON. It belongs to one uid: on a copy, or on a Service that was
 * restored with another uid, it is ignored.
 */
export const StateAnnotation = z.strictObject({
  version: z.literal(1),
  uid: z.string(),
  /**
   * `applying`: changes of the cloud may be in progress. `applied`: the state behind the hashes is reached.
   * `undoing` and `refused`: the cloud refused it, and its resources are being removed or are gone.
   * `leaving`: the Service needs no load balancer any more, and late results of earlier work are awaited.
   */
  state: z.enum(["applying", "applied", "undoing", "refused", "leaving"]),
  /**
   * When the Service was claimed, and by which actor (`src/core/service/claims.ts`). Versions without claims
   * wrote the time of the last request whose result the cloud may not show yet.
   */
  making: z.iso.datetime().optional(),
  /** What the cloud refused, as reported on the Service: a code, and the field to fix. */
  refused: z.strictObject({ code: z.string(), field: z.string().optional() }).optional(),
  /** Hash of the Service and its configuration as a whole, with which watchers detect work. */
  seen: z.string(),
  /** Hash of the desired state that the cloud's model computes. */
  desired: z.string(),
  /** Hash of the targets, or a value for unknown targets. */
  targets: z.string(),
  /** Hash of the addresses in the status. */
  ingress: z.string(),
  /** The version of the node list behind the targets, and when they were applied. */
  nodes: z.string(),
  at: z.iso.datetime(),
});
export type StateAnnotation = z.output<typeof StateAnnotation>;

/** The content of the state annotation without its owner. */
export type AnnotationFacts = Omit<StateAnnotation, "version" | "uid">;

/** Replaces the targets' hash after some targets changed with an unknown result. */
export const UNKNOWN_TARGETS = "";

/** The hash of an empty list of targets. */
export const NO_TARGETS = hashText(JSON.stringify([]));

const NO_NODE_SINCE = "no node since ";

/**
 * Returns the text that replaces the targets' hash from the time when the API server first listed no node.
 * Earlier versions read it as changed targets.
 */
export function writeNoNodeSince(now: Date): string {
  return `${NO_NODE_SINCE}${now.toISOString()}`;
}

/** Returns since when the API server has listed no node; undefined if that was not recorded. */
export function readNoNodeSince({ targets }: Pick<StateAnnotation, "targets">): string | undefined {
  return targets.startsWith(NO_NODE_SINCE) ? targets.slice(NO_NODE_SINCE.length) : undefined;
}

/**
 * Returns the hash of targets of which some are still awaited. Versions that do not know it read other
 * targets than the nodes', and check them once more.
 */
export function formatAwaitedTargets(hash: string): string {
  return `${AWAITED}${hash}`;
}

/**
 * Returns the text that replaces the targets' hash of a refused Service, which has no targets: how many other
 * Services had a load balancer then. Other versions do not read it there.
 */
export function formatHolderCount(count: number): string {
  return `${HOLDERS}${count}`;
}

/**
 * Returns how many other Services had a load balancer when the cloud refused this one; undefined if unknown.
 */
export function readHolders({ targets }: Pick<StateAnnotation, "targets">): number | undefined {
  return /^holders:\d{1,6}$/.test(targets) ? Number(targets.slice(HOLDERS.length)) : undefined;
}

const HOLDERS = "holders:";

/** Returns whether all targets behind an annotation were applied, as far as is known. */
export function hasAppliedTargets({ targets }: Pick<StateAnnotation, "targets">): boolean {
  return (
    [AWAITED, NO_NODE_SINCE].every((prefix) => !targets.startsWith(prefix)) && targets !== UNKNOWN_TARGETS
  );
}

const AWAITED = "~";

/** Returns the state annotation of this Service, matched by uid; undefined when it is missing or invalid. */
export function parseStateAnnotation({
  metadata: { uid, annotations },
}: Pick<Service, "metadata">): StateAnnotation | undefined {
  const text = annotations?.[LOAD_BALANCER_ANNOTATION];
  if (text === undefined) return undefined;
  const annotation = StateAnnotation.safeParse(parseJson(text)).data;
  return annotation?.uid === uid ? annotation : undefined;
}

/** Returns an annotation for a Service that has lost its own or never had one: it records only the owner. */
export function createStateAnnotation({
  metadata: { uid, creationTimestamp },
}: Pick<Service, "metadata">): StateAnnotation {
  const emptyHashes = { seen: "", desired: "", targets: "", ingress: "", nodes: "" };
  return { version: 1, uid, state: "applied", ...emptyHashes, at: creationTimestamp };
}

/** Returns whether the cloud refused the desired state behind the hashes. */
export function isGivenUp({ state }: StateAnnotation): boolean {
  return state === "undoing" || state === "refused";
}

/** Returns the text of the annotation. */
export function formatStateAnnotation(mark: Omit<StateAnnotation, "version">): string {
  return JSON.stringify({ version: 1, ...mark } satisfies StateAnnotation);
}

/**
 * Returns whether two annotations record the same state. A new node list or time alone is not a difference.
 */
export function isSameStateAnnotation(
  a: StateAnnotation | undefined,
  b: Omit<StateAnnotation, "version">,
): boolean {
  return a !== undefined && COMPARED.every((key) => a[key] === b[key]);
}

const COMPARED = ["uid", "state", "seen", "desired", "targets", "ingress", "making"] as const;

/**
 * Returns a node's labels as hashes of ten letters each, for Services that select nodes by label. Whole
 * labels would be most of an event with thousands of nodes. The hashes only show whether a label exists and
 * has a given value.
 */
export function hashLabels(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([key, value]) => `${hashLabel(key)}${hashLabel(value)}`)
    .sort()
    .join("");
}

/** Returns whether the hashes contain a label; an empty value matches any. */
export function hasLabel(marks: string, key: string, value: string): boolean {
  const entryHash = value === "" ? hashLabel(key) : `${hashLabel(key)}${hashLabel(value)}`;
  for (let start = 0; start < marks.length; start += 2 * LENGTH)
    if (marks.startsWith(entryHash, start)) return true;
  return false;
}

/** Characters of a hash: one value in a million. A node has tens of labels. */
const LENGTH = 5;

function hashLabel(text: string): string {
  return hashText(text).slice(-LENGTH);
}
