import { decideDry } from "#cli/explain/decide-dry.ts";
import { explanationOf } from "#cli/explain/explanation.ts";
import { explanationLines } from "#cli/explain/explanation-lines.ts";
import { reachClusterOf } from "#cli/explain/find-cluster.ts";
import { readNode } from "#cli/explain/read-node.ts";
import { explainService } from "#cli/explain/service/explain-service.ts";
import { serviceLines } from "#cli/explain/service/lines.ts";
import { explainedBy } from "#cli/explain/subject.ts";
import type { ReachFlags } from "#cli/reach-cluster.ts";
import { readStopStatus } from "#cli/stop-status.ts";
import type { StopSwitchFlags } from "#cli/stop-switch.ts";
import type { Environment } from "#clouds/kind.ts";
import { loadCloud } from "#clouds/kinds.ts";
import { jsonLine } from "#core/json-line.ts";
import { clusterObjects } from "#functions/parts/cluster-objects.ts";

/** The flags of `explain`. */
export interface ExplainFlags extends ReachFlags, StopSwitchFlags {
  readonly json?: boolean | undefined;
}

/** Everything together; a function has 30 seconds. */
const TIMEOUT_MS = 120_000;

/**
 * Writes what a node or a Service waits for, whose business that is, and what would be done; rejects where there is none such. Without a
 * cluster's name it is the one that has the object.
 */
export async function explain(
  what: readonly string[],
  flags: ExplainFlags,
  write: (line: string) => void,
  environment: Environment = process.env,
): Promise<void> {
  const explained = explainedBy(what);
  const reached = await reachClusterOf(explained, flags, write, environment);
  const { cluster } = reached;
  try {
    const stops = await readStopStatus(cluster.name, flags, environment);
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const objects = clusterObjects(() => reached.api("service"));
    const cloud = await loadCloud(cluster.cloud, { clusterName: cluster.name, objects });
    const tell = <Explanation>(
      explanation: Explanation,
      lines: (of: Explanation) => readonly string[],
    ): void => {
      if (flags.json === true) write(jsonLine(explanation));
      else for (const line of lines(explanation)) write(line);
    };
    try {
      if (explained.kind === "service") {
        tell(await explainService(reached, cloud, explained.name, signal, stops), serviceLines);
      } else {
        const node = await readNode(reached, explained.name, signal);
        const explanation = explanationOf(cluster.name, node, await decideDry(reached, cloud, node), stops);
        tell(explanation, (of) => explanationLines(of, new Date()));
      }
    } finally {
      await cloud.close();
    }
  } finally {
    await reached.close();
  }
}
