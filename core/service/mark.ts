import * as z from "zod";
import { LOAD_BALANCER_ANNOTATION } from "#core/contracts.ts";
import { hashOf } from "#core/hash.ts";
import type { Service } from "#core/service/service.ts";

/**
 * What stands in our annotation on a Service, as JSON. It belongs to one life of a Service: on a copy, or on one that was restored
 * under another uid, it says nothing.
 */
export const Mark = z.strictObject({
  version: z.literal(1),
  uid: z.string(),
  /**
   * Changes of the cloud may be under way, or all that the hashes stand for was done; or the cloud has refused it, and what was
   * made of it goes again, or is gone; or what was under way when the Service came to want no load balancer is looked for.
   */
  state: z.enum(["applying", "applied", "undoing", "refused", "leaving"]),
  /**
   * When the Service was claimed, and by whom (`core/service/claims.ts`); of a version that knows no claims, when something was last asked for
   * that the cloud may have made, and may not show yet.
   */
  making: z.iso.datetime().optional(),
  /** What the cloud refused, as the Service is told: a code, and the field that is to be mended. */
  refused: z.strictObject({ code: z.string(), field: z.string().optional() }).optional(),
  /** Of the Service and its configuration as a whole, by which whoever watches tells whether there is something to do. */
  seen: z.string(),
  /** Of what the cloud's model makes of it. */
  desired: z.string(),
  /** Of the targets, or that it is not known which they are. */
  targets: z.string(),
  /** Of the addresses in the status. */
  ingress: z.string(),
  /** The version of the list of nodes that the targets were of, and when they were applied. */
  nodes: z.string(),
  at: z.iso.datetime(),
});
export type Mark = z.output<typeof Mark>;

/** In place of the targets' hash: some were changed, and nobody has said since what came of it. */
export const UNKNOWN_TARGETS = "";
/** The hash of no targets at all. */
export const NO_TARGETS = hashOf(JSON.stringify([]));

const NO_NODE_SINCE = "no node since ";

/**
 * Returns what stands in place of the targets' hash from the time on at which the API server first listed no node for them. Earlier
 * versions read it as targets that are not what they were.
 */
export function writeNoNodeSince(now: Date): string {
  return `${NO_NODE_SINCE}${now.toISOString()}`;
}

/** Returns since when no node was listed for the targets; undefined where nobody has written that. */
export function readNoNodeSince({ targets }: Pick<Mark, "targets">): string | undefined {
  return targets.startsWith(NO_NODE_SINCE) ? targets.slice(NO_NODE_SINCE.length) : undefined;
}

/**
 * Stands for targets of which some are waited for. A version that does not know this takes them for other targets than those of the
 * nodes, and looks at them once more.
 */
export function awaitedTargets(hash: string): string {
  return `${AWAITED}${hash}`;
}

/**
 * Stands in place of the targets' hash of a Service that the cloud has refused, which has no targets: how many other Services had a load
 * balancer then. Other versions do not read it there.
 */
export function holdersThen(count: number): string {
  return `${HOLDERS}${count}`;
}

/** Returns how many other Services had a load balancer when the cloud refused this one; undefined where that was not known. */
export function readHolders({ targets }: Pick<Mark, "targets">): number | undefined {
  return /^holders:\d{1,6}$/.test(targets) ? Number(targets.slice(HOLDERS.length)) : undefined;
}

const HOLDERS = "holders:";

/** Whether all targets that a mark stands for have been applied, as far as anybody knows. */
export function hasAppliedTargets({ targets }: Pick<Mark, "targets">): boolean {
  return (
    [AWAITED, NO_NODE_SINCE].every((prefix) => !targets.startsWith(prefix)) && targets !== UNKNOWN_TARGETS
  );
}

const AWAITED = "~";

/** What our annotation says of this very Service; undefined where it says nothing that can be relied on. */
export function markOf({ metadata: { uid, annotations } }: Pick<Service, "metadata">): Mark | undefined {
  const text = annotations?.[LOAD_BALANCER_ANNOTATION];
  if (text === undefined) return undefined;
  const mark = Mark.safeParse(parsedJson(text)).data;
  return mark?.uid === uid ? mark : undefined;
}

/** A mark of a Service that has lost its own, or never had one: it says nothing but whose it is. */
export function blankMark({ metadata: { uid, creationTimestamp } }: Pick<Service, "metadata">): Mark {
  const none = { seen: "", desired: "", targets: "", ingress: "", nodes: "" };
  return { version: 1, uid, state: "applied", ...none, at: creationTimestamp };
}

/** Whether the cloud has refused what the hashes stand for. */
export function isGivenUp({ state }: Mark): boolean {
  return state === "undoing" || state === "refused";
}

/** The text of the annotation. */
export function writtenMark(mark: Omit<Mark, "version">): string {
  return JSON.stringify({ version: 1, ...mark } satisfies Mark);
}

/** Whether two marks say the same of the Service: which list the nodes were of, and when, is no news by itself. */
export function isSameMark(a: Mark | undefined, b: Omit<Mark, "version">): boolean {
  return a !== undefined && COMPARED.every((key) => a[key] === b[key]);
}

const COMPARED = ["uid", "state", "seen", "desired", "targets", "ingress", "making"] as const;

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
