import { tell } from "#core/cluster-events.ts";
import type { ClusterEvent, Decision } from "#core/decision.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import { retry } from "#core/node/decisions.ts";
import type { Node } from "#core/node/node.ts";

/** What keeps us from deciding on a node now: a code of the table below, and a sentence. */
export interface Problem {
  readonly code: ProblemCode;
  readonly message: string;
}

export type ProblemCode = keyof typeof PROBLEMS;

/** The problem with an answer of the cloud that is no instance. */
export function problemOf(answer: Exclude<InstanceAnswer, { readonly kind: "found" }>): Problem {
  if (answer.kind === "not-found") return { code: "InstanceNotFound", message: answer.message };
  return { code: answer.code, message: answer.message };
}

/** Leaves the node as it is and comes back: the later the older the node is, which needs no memory of past tries. */
export function retryAfterProblem(node: Node, problem: Problem, now: Date): Decision {
  const { warning }: Handling = PROBLEMS[problem.code];
  const isWarned = warning?.from === "at-once" || ageInSeconds(node, now) >= LASTING_SECONDS;
  const events = warning !== undefined && isWarned ? [warning.event] : [];
  return retry(node, problem, waitSeconds(node, problem, now), events);
}

interface Handling {
  /** The wait grows with the node's age from here … */
  readonly fromSeconds: number;
  /** … to here. */
  readonly toSeconds: number;
  /** The Warning event on the node, for somebody to act on; none where absent. */
  readonly warning?: Warning;
}

/** What somebody has to act on, in the catalogue's words: a problem's own message goes to the report and the log alone. */
interface Warning {
  readonly from: "at-once" | "when-it-lasts";
  readonly event: ClusterEvent;
}

/** Passes by itself within seconds; a cloud takes a moment to know its own new instances, and longer to show their tags. */
const SOON = { fromSeconds: 0.5, toSeconds: 60 } satisfies Handling;
/** Only somebody's action mends it. */
const FAULT = { fromSeconds: 30, toSeconds: 600 } satisfies Handling;

/**
 * Of an instance that is somebody else's, of one that may not be seen and of one that does not exist the same is said, at the
 * same times: a node may name any instance, and who writes nodes must not find out by it which there are.
 */
const NO_INSTANCE: Warning = {
  from: "when-it-lasts",
  event: tell("InstanceNotFound", "InstanceNotFound", {}),
};

const PROBLEMS = {
  NoAnswer: { fromSeconds: 1, toSeconds: 1 },
  InstanceNotFound: { ...SOON, warning: NO_INSTANCE },
  InstanceTerminated: FAULT,
  Foreign: { ...SOON, warning: NO_INSTANCE },
  Ambiguous: { ...FAULT, warning: { from: "at-once", event: tell("InstanceAmbiguous", "Ambiguous", {}) } },
  ForeignProviderID: {
    ...FAULT,
    warning: { from: "at-once", event: tell("ForeignProviderID", "ForeignProviderID", {}) },
  },
  InvalidProviderID: {
    ...FAULT,
    warning: { from: "at-once", event: tell("InvalidProviderID", "InvalidProviderID", {}) },
  },
  Denied: { ...SOON, warning: NO_INSTANCE },
  Throttled: { fromSeconds: 3, toSeconds: 3 },
  Unavailable: { fromSeconds: 2, toSeconds: 2 },
  Aborted: { fromSeconds: 0.5, toSeconds: 0.5 },
  ProvidedNodeIPInvalid: {
    ...FAULT,
    warning: { from: "at-once", event: tell("ProvidedNodeIPInvalid", "ProvidedNodeIPInvalid", {}) },
  },
  ProvidedNodeIPUnmatched: {
    ...SOON,
    warning: { from: "at-once", event: tell("ProvidedNodeIPUnmatched", "ProvidedNodeIPUnmatched", {}) },
  },
  NoNodeAddress: {
    ...SOON,
    warning: { from: "when-it-lasts", event: tell("NoNodeAddress", "NoNodeAddress", {}) },
  },
} as const satisfies Readonly<Record<string, Handling>>;

/** A wait of a quarter of the node's age grows by a quarter each time. */
const AGE_DIVISOR = 4;
/** A node that young may well be waiting for nothing but its cloud. */
const LASTING_SECONDS = 60;
/** 0 for a node whose creation is unreadable or in the future. */
function ageInSeconds(node: Node, now: Date): number {
  const age = (now.getTime() - Date.parse(node.metadata.creationTimestamp)) / 1_000;
  return Number.isNaN(age) ? 0 : Math.max(age, 0);
}

function round(seconds: number): number {
  return Math.round(seconds * 10) / 10;
}

function waitSeconds(node: Node, { code }: Problem, now: Date): number {
  const { fromSeconds, toSeconds }: Handling = PROBLEMS[code];
  return round(Math.min(toSeconds, Math.max(fromSeconds, ageInSeconds(node, now) / AGE_DIVISOR)));
}
