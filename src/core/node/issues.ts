import { buildClusterEvent, type CodeOf } from "#core/cluster-events.ts";
import type { ClusterEvent, Decision } from "#core/decision.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import { retry } from "#core/node/decisions.ts";
import type { Node } from "#core/node/node.ts";
import { isUninitialized } from "#core/node/taints.ts";

/** A reason why a node cannot be decided now: a code of the table below, and a sentence. */
export interface Issue {
  readonly code: IssueCode;
  readonly message: string;
}

export type IssueCode = keyof typeof ISSUES;

/** Returns the issue for an answer of the cloud without an instance. */
export function toIssue(answer: Exclude<InstanceAnswer, { readonly kind: "found" }>): Issue {
  if (answer.kind === "not-found") return { code: "InstanceNotFound", message: answer.message };
  return { code: answer.code, message: answer.message };
}

/**
 * Leaves the node unchanged and retries. The interval grows with the node's age, which needs no record of
 * past tries.
 */
export function retryAfterIssue(node: Node, issue: Issue, now: Date): Decision {
  const events = isUninitialized(node)
    ? buildInitializationEvents(node, issue, now)
    : buildRefreshEvents(issue);
  return retry(node, issue, waitSeconds(node, issue, now), events);
}

function buildInitializationEvents(node: Node, { code }: Issue, now: Date): ClusterEvent[] {
  const { warning }: RetryPolicy = ISSUES[code];
  const isWarned = warning?.from === "at-once" || getAgeSeconds(node, now) >= LASTING_SECONDS;
  return warning !== undefined && isWarned
    ? [buildClusterEvent("CloudInitializationFailed", warning.code, {})]
    : [];
}

/**
 * Events on an initialized node about an issue that a person must fix; the node stays unchanged until then.
 */
function buildRefreshEvents({ code }: Issue): ClusterEvent[] {
  if (code === "Ambiguous") return [buildClusterEvent("InstanceAmbiguous", code, {})];
  return code === "InvalidProviderID" ? [buildClusterEvent("InvalidProviderID", code, {})] : [];
}

interface RetryPolicy {
  /** The first interval; it grows with the node's age. */
  readonly fromSeconds: number;
  /** The maximum interval. */
  readonly toSeconds: number;
  /** The Warning on a node that waits for its initialization. */
  readonly warning?: Warning;
}

/** A Warning in the catalogue's words; an issue's own message goes only to the report and the log. */
interface Warning {
  readonly from: "at-once" | "when-it-lasts";
  readonly code: CodeOf<"CloudInitializationFailed">;
}

/**
 * Temporary, for seconds: a cloud needs a moment to show its new instances, and longer to show their tags.
 */
const SOON = { fromSeconds: 0.5, toSeconds: 60 } satisfies RetryPolicy;
/** A person must fix it. */
const FAULT = { fromSeconds: 30, toSeconds: 600 } satisfies RetryPolicy;

/**
 * A foreign, an invisible and a nonexistent instance get equal messages at equal times. A node can name any
 * instance, and its writer must not learn which ones exist.
 */
const NO_INSTANCE: Warning = {
  from: "when-it-lasts",
  code: "InstanceNotFound",
};

/** The cloud could not be reached or refused the request, for a reason that is not the node's. */
const NO_CLOUD: Warning = { from: "when-it-lasts", code: "CloudUnavailable" };

const ISSUES = {
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
} as const satisfies Readonly<Record<string, RetryPolicy>>;

/** An interval of a quarter of the node's age grows by a quarter each time. */
const AGE_DIVISOR = 4;
/** A younger node may simply be waiting for its cloud. */
const LASTING_SECONDS = 60;
/** Returns 0 if the creation time is unreadable or in the future. */
function getAgeSeconds(node: Node, now: Date): number {
  const age = (now.getTime() - Date.parse(node.metadata.creationTimestamp)) / 1_000;
  return Number.isNaN(age) ? 0 : Math.max(age, 0);
}

function round(seconds: number): number {
  return Math.round(seconds * 10) / 10;
}

function waitSeconds(node: Node, { code }: Issue, now: Date): number {
  const { fromSeconds, toSeconds }: RetryPolicy = ISSUES[code];
  return round(Math.min(toSeconds, Math.max(fromSeconds, getAgeSeconds(node, now) / AGE_DIVISOR)));
}
