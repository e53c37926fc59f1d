import { decideDry } from "#cli/explain/decide-dry.ts";
import { explanationOf } from "#cli/explain/explanation.ts";
import { explanationLines } from "#cli/explain/explanation-lines.ts";
import { readNode } from "#cli/explain/read-node.ts";
import { type ReachFlags, reachCluster } from "#cli/reach-cluster.ts";
import type { Environment } from "#clouds/kind.ts";
import { loadCloud } from "#clouds/kinds.ts";
import { jsonLine } from "#core/json-line.ts";

/** The flags of `explain`. */
export interface ExplainFlags extends ReachFlags {
  readonly json?: boolean | undefined;
}

/** Everything together; a function has 30 seconds. */
const TIMEOUT_MS = 120_000;

/** Writes what a node waits for, whose business that is, and what would be done; rejects where there is no such node. */
export async function explain(
  nodeName: string,
  clusterName: string | undefined,
  flags: ExplainFlags,
  write: (line: string) => void,
  environment: Environment = process.env,
): Promise<void> {
  const reached = await reachCluster(clusterName, flags, environment);
  const { cluster } = reached;
  try {
    const node = await readNode(reached, nodeName, AbortSignal.timeout(TIMEOUT_MS));
    const cloud = await loadCloud(cluster.cloud, { clusterName: cluster.name });
    try {
      const explanation = explanationOf(cluster.name, node, await decideDry(reached, cloud, node));
      if (flags.json === true) write(jsonLine(explanation));
      else for (const line of explanationLines(explanation, new Date())) write(line);
    } finally {
      await cloud.close();
    }
  } finally {
    await reached.close();
  }
}
