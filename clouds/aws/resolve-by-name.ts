import { findCandidates } from "#clouds/aws/candidates.ts";
import { toErrorAnswer } from "#clouds/aws/errors.ts";
import { type NodeMatcher, selectMatchers } from "#clouds/aws/node-matchers.ts";
import type { AwsCluster } from "#clouds/aws/ownership.ts";
import { buildNotFound, chooseInstance, type Resolution, type Resolutions } from "#clouds/aws/resolution.ts";
import type { Session } from "#clouds/aws/session.ts";
import type { Node } from "#core/node/node.ts";

/**
 * Finds instances for nodes without provider ID, with each matcher in turn for the nodes still missing. A
 * node is "not found" only if no matcher found anything. `guesses` are the nodes that matched by less than
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
  for (const matcher of selectMatchers(cluster)) {
    const found = await findByMatcher(pending, matcher, session, cluster);
    for (const [node, resolution] of found) {
      // A foreign instance found by one matcher says nothing about the others. The search must not end early:
      // its duration would tell a node that names the instance that it exists.
      if (isForeign(resolution)) {
        foreign.set(node, resolution);
        continue;
      }
      resolved.set(node, resolution);
      if (matcher.isGuess) guesses.add(node);
    }
    pending = pending.filter((node) => !resolved.has(node));
    if (pending.length === 0) break;
  }
  const matcherNames = selectMatchers(cluster).map((matcher) => matcher.name);
  for (const node of pending) {
    const notFound = buildNotFound(
      `node ${node.metadata.name}: EC2 has no instance by ${matcherNames.join(" or ")}`,
    );
    resolved.set(node, foreign.get(node) ?? notFound);
  }
  return { resolved, guesses };
}

/** Returns resolutions of the nodes for which this matcher found anything. */
async function findByMatcher(
  nodes: readonly Node[],
  matcher: NodeMatcher,
  session: Session,
  cluster: AwsCluster,
): Promise<Resolutions> {
  const keys = new Map(nodes.map((node) => [node, matcher.listNodeKeys(node, cluster.region)]));
  const { found, faults } = await findCandidates([...keys.values()].flat(), matcher, session, cluster);
  const resolutions = [...keys].flatMap(([node, nodeKeys]): [Node, Resolution][] => {
    const search = `node ${node.metadata.name}, looked for by ${matcher.name} ${nodeKeys.join(", ")}`;
    const fault = nodeKeys.map((key) => faults.get(key)).find((each) => each !== undefined);
    if (fault !== undefined) {
      const answer = toErrorAnswer({ ...fault, message: `${search}: ${fault.message}` });
      return [[node, { kind: "answer", answer }]];
    }
    const all = new Map(nodeKeys.flatMap((key) => found.get(key) ?? []).map((each) => [each.id, each]));
    const resolution = chooseInstance([...all.values()], cluster, search);
    return resolution === undefined ? [] : [[node, resolution]];
  });
  return new Map(resolutions);
}

function isForeign(resolution: Resolution): boolean {
  return (
    resolution.kind === "answer" && resolution.answer.kind === "error" && resolution.answer.code === "Foreign"
  );
}
