import { brakeLines, summaryOfBrake } from "#cli/brake-lines.ts";
import { type ReachFlags, reachCluster } from "#cli/reach-cluster.ts";
import { letGoOfBrake, usableState } from "#cli/reset-brake.ts";
import type { Environment } from "#clouds/kind.ts";
import { cloudKindOf } from "#clouds/kinds.ts";
import { jsonLine } from "#core/json-line.ts";
import { NODES } from "#core/resources/resource.ts";
import { countObjects } from "#kube/apply/read.ts";
import type { Transport } from "#kube/client/transport.ts";

/** The flags of `brake`. */
export interface BrakeFlags extends ReachFlags {
  readonly reset?: boolean | undefined;
  readonly json?: boolean | undefined;
}

type Write = (line: string) => void;

/** Everything together; one request takes ten seconds at the most. */
const TIMEOUT_MS = 60_000;

/** Shows the state of deletion of a cluster, and lets its brake go where that is asked for; rejects where there is no usable state. */
export async function brake(
  name: string | undefined,
  flags: BrakeFlags,
  write: Write,
  environment: Environment = process.env,
): Promise<void> {
  const reached = await reachCluster(name, flags, environment, { noCloud: true });
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const transport = await reached.api("node-lifecycle");
    const reset =
      flags.reset === true ? await letGoOfBrake(transport, reached.cluster.name, signal) : undefined;
    const { state } = await usableState(transport, signal);
    const { deletion } = reached.cluster.nodes;
    const now = new Date();
    const summary = summaryOfBrake(state, deletion, await nodesOf(transport, signal), now);
    if (flags.json === true) write(jsonLine({ cluster: reached.cluster.name, ...summary, ...reset }));
    else {
      if (reset !== undefined) write(reset.message);
      const { scaleIn } = cloudKindOf(reached.cluster.cloud);
      for (const line of brakeLines(summary, deletion, now, scaleIn)) write(line);
    }
  } finally {
    await reached.close();
  }
}

/** From the API server's own count; undefined where this identity may not list nodes, or the server does not say. */
async function nodesOf(transport: Transport, signal: AbortSignal): Promise<number | undefined> {
  const counted = await countObjects(transport, NODES, signal);
  return counted.kind === "count" ? counted.count : undefined;
}
