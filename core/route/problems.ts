import { type CodeOf, tell } from "#core/cluster-events.ts";
import type { Because, ClusterEvent } from "#core/decision.ts";
import { referenceTo } from "#core/decisions.ts";
import { NODES } from "#core/resources/resource.ts";
import type { RouteNode } from "#core/route/related-node.ts";
import { QUOTA_CODE } from "#core/route/state.ts";
import { nameOf, numberOf, podCIDRsOf } from "#core/tenant-fact.ts";

/** Why a node has not the routes that it is to have, in the operator's words. */
export interface Problem extends Because {
  readonly afterSeconds: number;
  /** What the node's people are told; undefined where it passes by itself, or was no fault to begin with. */
  readonly event?: CodeOf<"FailedToCreateRoute">;
  /** It is not known that there is none: the condition stays as it is. */
  readonly isOpen?: true;
}

/** Seconds until what failed is tried again, where the code says how long; the rest waits for somebody to mend it. */
const AFTER_SECONDS: Readonly<Record<string, number>> = {
  DeadlineReached: 0,
  Aborted: 0.5,
  Conflict: 1,
  Gone: 1,
  Unavailable: 2,
  Throttled: 3,
};
const MENDED_AFTER_SECONDS = 60;

/** Of what failed for want of time nothing is known. */
const OPEN: ReadonlySet<string> = new Set(["DeadlineReached", "Aborted"]);

/** What a failed action or question means for the node that it was for. */
export function problemOf(failed: Because): Problem {
  if (failed.message.includes(QUOTA_CODE)) return tableFull(failed.message);
  const { code } = failed;
  const afterSeconds = AFTER_SECONDS[code];
  if (afterSeconds !== undefined)
    return { ...failed, afterSeconds, ...(OPEN.has(code) ? { isOpen: true } : {}) };
  return { ...failed, afterSeconds: MENDED_AFTER_SECONDS, event: "CloudRefused" };
}

/** It could not be found out whether there is anything to be done. */
export function openQuestion(because: Because): Problem {
  return { ...because, afterSeconds: AFTER_SECONDS[because.code] ?? MENDED_AFTER_SECONDS, isOpen: true };
}

/** A table takes no more routes. */
export function tableFull(message: string): Problem {
  return { code: QUOTA_CODE, message, afterSeconds: 300, event: QUOTA_CODE };
}

/** What only a change of the node, or of the network, mends. */
export function lastingProblem(
  code: Exclude<CodeOf<"FailedToCreateRoute">, "CloudRefused" | typeof QUOTA_CODE>,
  message: string,
): Problem {
  return { code, message, afterSeconds: code === "InstanceNotFound" ? 30 : 300, event: code };
}

/** DeleteRoute takes whatever the network's route is by then: what a node may have lost by it is seen, and restored, at once. */
export const DELETED: Problem = {
  code: "RoutesDeleted",
  message: "routes were deleted, and their tables are observed once more",
  afterSeconds: 1,
};

/** The node has no machine that it names: it is about to be initialized. */
export const UNNAMED: Problem = {
  code: "NotInitialized",
  message: "the node names no machine yet",
  afterSeconds: 600,
};

/** The Event of a problem, on the node; `routed` are the nodes that have their routes. */
export function eventOf(
  node: RouteNode,
  code: CodeOf<"FailedToCreateRoute">,
  routed: readonly RouteNode[],
): ClusterEvent {
  const about = { metadata: { name: node.name, uid: node.uid } };
  const facts = { node: nameOf(about), networks: podCIDRsOf(node), routes: numberOf(routed) };
  return { ...tell("FailedToCreateRoute", code, facts), about: referenceTo(NODES, about) };
}
