import type { Cluster } from "#config/cluster.ts";
import type { Decision } from "#core/decision.ts";
import type { Event } from "#core/event.ts";
import { decideNode } from "#core/node/decide.ts";
import type { Node } from "#core/node/node.ts";
import { applyPolicies } from "#core/policies.ts";
import type { Answers } from "#functions/parts/ask-cloud.ts";
import { type Entry, nodesOf } from "#functions/parts/parse-nodes.ts";
import type { ApplyItem, DecideAgain } from "#kube/apply/apply-decision.ts";

/** What was decided of each node, and how to decide on one that was read again. */
export interface Decisions {
  readonly items: readonly ApplyItem[];
  readonly decideAgain: DecideAgain;
}

/** Decides the nodes of a batch: on the cloud's answers, all at one moment, under the cluster's policies. */
export function decideNodes(
  cluster: Cluster,
  event: Event,
  entries: readonly Entry[],
  answers: Answers,
  now: Date,
): Decisions {
  const { labelsOnly } = cluster.policies;
  const decide = (node: Node, asked: Node): Decision => {
    // The answer is about the instance that was asked for: not about another one that the node names by now.
    const answer = node.spec.providerID === asked.spec.providerID ? answers.byNode.get(asked) : undefined;
    const decision = decideNode(node, answer, {
      reason: event.reason,
      now,
      taintRestoredBy: event.taintRestoredBy?.[node.metadata.uid],
    });
    return applyPolicies(decision, { dryRun: false, labelsOnly });
  };
  const nodes = new Map(nodesOf(entries).map(({ index, node }) => [index, node]));
  return {
    items: [...nodes].map(([index, node]) => ({ index, node, decision: decide(node, node) })),
    decideAgain: (fresh, index) => decide(fresh, nodes.get(index) ?? fresh),
  };
}
