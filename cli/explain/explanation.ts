import type { DryDecision } from "#cli/explain/decide-dry.ts";
import { findRemedy } from "#cli/explain/remedies.ts";
import { type StopStatus, stopAdvice } from "#cli/stop-status.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import type { Node } from "#core/node/node.ts";
import { findTaintOwner, type TaintOwner } from "#core/taint-owners.ts";

/** Everything known about a node: its state, what the cloud says, what would be done, and what to do. */
export interface Explanation {
  readonly cluster: string;
  /** Undefined if no stop switch is named. */
  readonly stops?: StopStatus | undefined;
  readonly node: Node;
  readonly taints: readonly ExplainedTaint[];
  /** Undefined if no controller asks the cloud about it. */
  readonly cloud: InstanceAnswer | undefined;
  readonly decisions: readonly DryDecision[];
  readonly advice: readonly string[];
}

/** A taint and its owner. */
export interface ExplainedTaint extends TaintOwner {
  readonly key: string;
  readonly effect: string;
}

/** Builds an explanation from what was read and decided. */
export function buildExplanation(
  cluster: string,
  node: Node,
  decisions: readonly DryDecision[],
  stops: StopStatus | undefined,
): Explanation {
  const taints = (node.spec.taints ?? []).map(({ key, effect }) => ({ key, effect, ...findTaintOwner(key) }));
  const cloud = decisions.find(({ answer }) => answer !== undefined)?.answer;
  const held = stopAdvice(
    stops,
    cluster,
    decisions.map(({ report }) => report),
  );
  return { cluster, stops, node, taints, cloud, decisions, advice: buildAdvice(taints, decisions, held) };
}

function buildAdvice(
  taints: readonly ExplainedTaint[],
  decisions: readonly DryDecision[],
  held: string | undefined,
): readonly string[] {
  const writes = decisions.some(({ report }) => hasHeldWrite(report));
  const remedies = decisions.flatMap(({ report: { because, decision } }) => {
    const remedy = findRemedy(decision?.because.code ?? because.code);
    return remedy === undefined ? [] : [`${decision?.because.code ?? because.code}: ${remedy}`];
  });
  const others = taints.filter(({ kind }) => kind !== "ours");
  const isWaiting = taints.some(({ kind }) => kind === "ours");
  const ours = writes ? [held ?? BY_ITSELF] : isWaiting ? [] : [NOTHING_LEFT];
  return [...new Set([...ours, ...remedies, ...others.map(({ key, remedy }) => `${key}: ${remedy}`)])];
}

const BY_ITSELF =
  "the relay sends it to the functions; if this does not change, serverless-ccm doctor shows what stops them";
const NOTHING_LEFT = "no write on this node is serverless-ccm's to do";

/** Returns whether a dry run held back a write. */
export function hasHeldWrite({ because, decision }: DryDecision["report"]): boolean {
  return decision === undefined ? because.code === "DryRun" : decision.kind === "change";
}
