import type { AwsCluster } from "#clouds/aws/belonging.ts";
import { findCandidates } from "#clouds/aws/candidates.ts";
import { answerOf } from "#clouds/aws/errors.ts";
import { type Means, meansOf } from "#clouds/aws/means.ts";
import { choose, notFound, type Resolution, type Resolutions } from "#clouds/aws/resolution.ts";
import type { Session } from "#clouds/aws/session.ts";
import type { Node } from "#core/node/node.ts";

/**
 * Looks instances up for nodes that have no provider ID, by each means in turn for those not found yet. Only what
 * nothing at all was found for, by any means, is "not found". `guesses` are the nodes that were found by less than
 * their own name.
 */
export async function resolveByName(
  nodes: readonly Node[],
  session: Session,
  cluster: AwsCluster,
): Promise<{ readonly resolved: Resolutions; readonly guesses: ReadonlySet<Node> }> {
  const resolved = new Map<Node, Resolution>();
  const guesses = new Set<Node>();
  const foreign = new Map<Node, Resolution>();
  let pending = nodes;
  for (const means of meansOf(cluster)) {
    const found = await lookUp(pending, means, session, cluster);
    for (const [node, resolution] of found) {
      // That one leads to somebody else's instance says nothing of what another one leads to; and the search must not be shorter
      // by it, or how long it takes would tell a node that names the instance that there is such a one.
      if (isForeign(resolution)) {
        foreign.set(node, resolution);
        continue;
      }
      resolved.set(node, resolution);
      if (means.guess) guesses.add(node);
    }
    pending = pending.filter((node) => !resolved.has(node));
    if (pending.length === 0) break;
  }
  const tried = meansOf(cluster).map((means) => means.name);
  for (const node of pending) {
    const absent = notFound(`node ${node.metadata.name}: EC2 has no instance by ${tried.join(" or ")}`);
    resolved.set(node, foreign.get(node) ?? absent);
  }
  return { resolved, guesses };
}

/** Resolutions of those nodes for which this means brought anything. */
async function lookUp(
  nodes: readonly Node[],
  means: Means,
  session: Session,
  cluster: AwsCluster,
): Promise<Resolutions> {
  const keys = new Map(nodes.map((node) => [node, means.keysOfNode(node, cluster.region)]));
  const { found, faults } = await findCandidates([...keys.values()].flat(), means, session, cluster);
  const resolutions = [...keys].flatMap(([node, nodeKeys]): [Node, Resolution][] => {
    const sought = `node ${node.metadata.name}, looked for by ${means.name} ${nodeKeys.join(", ")}`;
    const fault = nodeKeys.map((key) => faults.get(key)).find((each) => each !== undefined);
    if (fault !== undefined) {
      const answer = answerOf({ ...fault, message: `${sought}: ${fault.message}` });
      return [[node, { kind: "answer", answer }]];
    }
    const all = new Map(nodeKeys.flatMap((key) => found.get(key) ?? []).map((each) => [each.id, each]));
    const resolution = choose([...all.values()], cluster, sought);
    return resolution === undefined ? [] : [[node, resolution]];
  });
  return new Map(resolutions);
}

function isForeign(resolution: Resolution): boolean {
  return (
    resolution.kind === "answer" && resolution.answer.kind === "error" && resolution.answer.code === "Foreign"
  );
}
