import { type CodeOf, tell } from "#core/cluster-events.ts";
import type { ClusterEvent, Decision } from "#core/decision.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import { retry } from "#core/node/decisions.ts";
import type { Node } from "#core/node/node.ts";
import { isUninitialized } from "#core/node/taints.ts";

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
  const events = isUninitialized(node) ? ofInitialization(node, problem, now) : ofRefresh(problem);
  return retry(node, problem, waitSeconds(node, problem, now), events);
}

function ofInitialization(node: Node, { code }: Problem, now: Date): ClusterEvent[] {
  const { warning }: Handling = PROBLEMS[code];
  const isWarned = warning?.from === "at-once" || ageInSeconds(node, now) >= LASTING_SECONDS;
  return warning !== undefined && isWarned ? [tell("CloudInitializationFailed", warning.code, {})] : [];
}

/** On a node that has joined, what only somebody's action mends; it stays as it is until then. */
function ofRefresh({ code }: Problem): ClusterEvent[] {
  if (code === "Ambiguous") return [tell("InstanceAmbiguous", code, {})];
  return code === "InvalidProviderID" ? [tell("InvalidProviderID", code, {})] : [];
}

interface Handling {
  /** The wait grows with the node's age from here … */
  readonly fromSeconds: number;
  /** … to here. */
  readonly toSeconds: number;
  /** The Warning on a node that waits for its initialization, for somebody to act on. */
  readonly warning?: Warning;
}

/** What somebody has to act on, in the catalogue's words: a problem's own message goes to the report and the log alone. */
interface Warning {
  readonly from: "at-once" | "when-it-lasts";
  readonly code: CodeOf<"CloudInitializationFailed">;
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
  code: "InstanceNotFound",
};

/** The cloud could not be asked, or would not say: whatever the reason, it is not the node's. */
const NO_CLOUD: Warning = { from: "when-it-lasts", code: "CloudUnavailable" };

const PROBLEMS = {
  NoAnswer: { fromSeconds: 1, toSeconds: 1, warning: NO_CLOUD },
  InstanceNotFound: { ...SOON, warning: NO_INSTANCE },
  InstanceTerminated: { ...FAULT, warning: { from: "at-once", code: "InstanceTerminated" } },
  Foreign: { ...SOON, warning: NO_INSTANCE },
  Ambiguous: { ...FAULT, warning: { from: "at-once", code: "Ambiguous" } },
  ForeignProviderID: { ...FAULT, warning: { from: "at-once", code: "ForeignProviderID" } },
  InvalidProviderID: { ...FAULT, warning: { from: "at-once", code: "InvalidProviderID" } },
  InvalidAddress: { ...FAULT, warning: { from: "at-once", code: "InvalidAddress" } },
  Denied: { ...SOON, warning: NO_INSTANCE },
  Throttled: { fromSeconds: 3, toSeconds: 3, warning: NO_CLOUD },
  Unavailable: { fromSeconds: 2, toSeconds: 2, warning: NO_CLOUD },
  Aborted: { fromSeconds: 0.5, toSeconds: 0.5, warning: NO_CLOUD },
  ProvidedNodeIPInvalid: { ...FAULT, warning: { from: "at-once", code: "ProvidedNodeIPInvalid" } },
  ProvidedNodeIPUnmatched: { ...SOON, warning: { from: "at-once", code: "ProvidedNodeIPUnmatched" } },
  NoNodeAddress: { ...SOON, warning: { from: "when-it-lasts", code: "NoNodeAddress" } },
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
