import { buildClusterEvent, type CodeOf } from "#core/cluster-events.ts";
import type { ClusterEvent } from "#core/decision.ts";
import { toReference } from "#core/decisions.ts";
import type { Reason } from "#core/reason.ts";
import { NODES } from "#core/resources/resource.ts";
import type { RouteNode } from "#core/route/related-node.ts";
import { QUOTA_CODE } from "#core/route/state.ts";
import { countNodesFact, getNameFact, listPodCIDRFacts } from "#core/tenant-fact.ts";

/** Why a node lacks routes, for the operator. */
export interface Issue extends Reason {
  readonly afterSeconds: number;
  /** The Event on the node; undefined if the issue is temporary or no fault. */
  readonly event?: CodeOf<"FailedToCreateRoute">;
  /** The absence of the route is not proven: the condition stays unchanged. */
  readonly isOpen?: true;
}

/** Seconds until a failed action is retried, by code; other codes wait for a person. */
const AFTER_SECONDS: Readonly<Record<string, number>> = {
  DeadlineReached: 0,
  Aborted: 0.5,
  Conflict: 1,
  Gone: 1,
  Unavailable: 2,
  Throttled: 3,
};
const ISSUE_RETRY_SECONDS = 60;

/** Codes of failures for lack of time, which leave the state unknown. */
const OPEN: ReadonlySet<string> = new Set(["DeadlineReached", "Aborted"]);

/** Returns the issue of a failed action or question for its node. */
export function toIssue(failed: Reason): Issue {
  if (failed.message.includes(QUOTA_CODE)) return createTableFullIssue(failed.message);
  const { code } = failed;
  const afterSeconds = AFTER_SECONDS[code];
  if (afterSeconds !== undefined)
    return { ...failed, afterSeconds, ...(OPEN.has(code) ? { isOpen: true } : {}) };
  return { ...failed, afterSeconds: ISSUE_RETRY_SECONDS, event: "CloudRefused" };
}

/** Returns the issue that the needed work is unknown. */
export function openQuestion(because: Reason): Issue {
  return { ...because, afterSeconds: AFTER_SECONDS[because.code] ?? ISSUE_RETRY_SECONDS, isOpen: true };
}

/** Returns the issue that a table accepts no more routes. */
export function createTableFullIssue(message: string): Issue {
  return { code: QUOTA_CODE, message, afterSeconds: 300, event: QUOTA_CODE };
}

/** Returns an issue that only a change of the node or of the network fixes. */
export function createLastingIssue(
  code: Exclude<CodeOf<"FailedToCreateRoute">, "CloudRefused" | typeof QUOTA_CODE>,
  message: string,
): Issue {
  return { code, message, afterSeconds: code === "InstanceNotFound" ? 30 : 300, event: code };
}

/**
 * DeleteRoute deletes the network's current route, even one that has changed since. A node's loss by that is
 * detected and repaired at once.
 */
export const DELETED: Issue = {
  code: "RoutesDeleted",
  message: "routes were deleted, and their tables are observed once more",
  afterSeconds: 1,
};

/** The node names no machine yet: it is about to be initialized. */
export const UNNAMED: Issue = {
  code: "NotInitialized",
  message: "the node names no machine yet",
  afterSeconds: 600,
};

/** Returns the Event of an issue on its node; `routed` are the nodes with all routes. */
export function buildIssueEvent(
  node: RouteNode,
  code: CodeOf<"FailedToCreateRoute">,
  routed: readonly RouteNode[],
): ClusterEvent {
  const about = { metadata: { name: node.name, uid: node.uid } };
  const facts = {
    node: getNameFact(about),
    networks: listPodCIDRFacts(node),
    routes: countNodesFact(routed),
  };
  return { ...buildClusterEvent("FailedToCreateRoute", code, facts), about: toReference(NODES, about) };
}
