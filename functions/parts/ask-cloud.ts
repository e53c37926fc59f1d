import type { CloudCall, InstancesResult } from "#clouds/cloud.ts";
import type { Cluster } from "#config/cluster.ts";
import type { Event } from "#core/event.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import { needsInstance } from "#core/node/needs-work.ts";
import type { Node } from "#core/node/node.ts";
import type { CloudUsage } from "#core/report.ts";
import type { Deadline } from "#functions/parts/deadline.ts";
import { type Entry, nodesOf } from "#functions/parts/parse-nodes.ts";
import type { World } from "#functions/parts/world.ts";

/** What the cloud said of the nodes that it was asked about. */
export interface Answers {
  readonly byNode: ReadonlyMap<Node, InstanceAnswer>;
  readonly usage: CloudUsage;
  readonly durationMs: number;
}

const NOT_ASKED: CloudUsage = { calls: {}, throttled: 0, waitedMs: 0 };

/** The cloud was not asked about anything. */
export const NO_ANSWERS: Answers = { byNode: new Map(), usage: NOT_ASKED, durationMs: 0 };

/** Asks the cloud, once for the whole batch, about those nodes whose decision depends on it. Never rejects. */
export async function askCloud(
  world: World,
  cluster: Cluster,
  event: Event,
  entries: readonly Entry[],
  { signal }: Deadline,
): Promise<Answers> {
  const nodes = nodesOf(entries).map(({ node }) => node);
  const asked = nodes.filter((node) => needsInstance(node, event.reason));
  if (asked.length === 0) return NO_ANSWERS;
  const startedAt = performance.now();
  const share = event.budget?.share ?? cluster.limits.floorShare;
  const { answers, usage } = await instancesOf(world, cluster, asked, { signal, share });
  const byNode = new Map<Node, InstanceAnswer>();
  asked.forEach((node, index) => {
    const answer = answers[index];
    if (answer) byNode.set(node, answer);
  });
  return { byNode, usage, durationMs: performance.now() - startedAt };
}

async function instancesOf(
  world: World,
  cluster: Cluster,
  nodes: readonly Node[],
  call: CloudCall,
): Promise<InstancesResult> {
  try {
    const cloud = await world.cloud(cluster);
    return await cloud.instances(nodes, call);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const message = `the cloud "${cluster.cloud.provider}" of cluster "${cluster.name}" cannot be used: ${reason}`;
    return { answers: nodes.map(() => ({ kind: "error", code: "Unavailable", message })), usage: NOT_ASKED };
  }
}
