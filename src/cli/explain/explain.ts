import { decideDry } from "#cli/explain/decide-dry.ts";
import { buildExplanation } from "#cli/explain/explanation.ts";
import { formatExplanation } from "#cli/explain/explanation-lines.ts";
import { findCluster, parseSubject } from "#cli/explain/find-cluster.ts";
import { readNode } from "#cli/explain/name-hint.ts";
import { explainService } from "#cli/explain/service/explain-service.ts";
import { formatServiceExplanation } from "#cli/explain/service/lines.ts";
import type { ReachFlags } from "#cli/reach-cluster.ts";
import { readStopStatus } from "#cli/stop-status.ts";
import type { StopSwitchFlags } from "#cli/stop-switch.ts";
import type { Environment } from "#clouds/provider.ts";
import { loadCloud } from "#clouds/providers.ts";
import { formatJsonLine } from "#core/log-text.ts";
import { createClusterObjects } from "#functions/parts/cluster-objects.ts";

/** The flags of `explain`. */
export interface ExplainFlags extends ReachFlags, StopSwitchFlags {
  readonly json?: boolean | undefined;
}

/** The time limit of the whole command; a function has 30 seconds. */
const TIMEOUT_MS = 120_000;

/**
 * Explains what a node or a Service waits for, who is responsible, and what would be done; rejects if it is
 * not found. Without a cluster's name it searches the cluster that has the object.
 */
export async function explain(
  what: readonly string[],
  flags: ExplainFlags,
  write: (line: string) => void,
  environment: Environment = process.env,
): Promise<void> {
  const explained = parseSubject(what);
  const reached = await findCluster(explained, flags, write, environment);
  const { cluster } = reached;
  try {
    const stops = await readStopStatus(cluster.name, flags, environment);
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const objects = createClusterObjects(() => reached.api("service"));
    const cloud = await loadCloud(cluster.cloud, { clusterName: cluster.name, objects });
    const tell = <Explanation>(
      explanation: Explanation,
      lines: (of: Explanation) => readonly string[],
    ): void => {
      if (flags.json === true) write(formatJsonLine(explanation));
      else for (const line of lines(explanation)) write(line);
    };
    try {
      if (explained.kind === "service") {
        tell(await explainService(reached, cloud, explained.name, signal, stops), formatServiceExplanation);
      } else {
        const node = await readNode(reached, explained.name, signal);
        const explanation = buildExplanation(
          cluster.name,
          node,
          await decideDry(reached, cloud, node),
          stops,
        );
        tell(explanation, (of) => formatExplanation(of, new Date()));
      }
    } finally {
      await cloud.close();
    }
  } finally {
    await reached.close();
  }
}
