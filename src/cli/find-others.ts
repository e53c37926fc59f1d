import { readTraces } from "#cli/read-traces.ts";
import type { Cluster } from "#config/cluster.ts";
import { sanitizeText } from "#core/sanitize-text.ts";
import { findSecondCcms, type SecondCcm } from "#core/second-ccm.ts";
import type { Transport } from "#kube/client/transport.ts";

/**
 * Returns the other cloud-controller-managers of a cluster, one line each, after what could not be read;
 * throws if nodes cannot be listed.
 */
export async function findOthers(
  cluster: Cluster,
  transport: Transport,
  signal: AbortSignal,
  write: (line: string) => void,
): Promise<readonly SecondCcm[]> {
  const read = await readTraces(transport, signal);
  if (read.kind === "failed")
    throw new Error(`the nodes of cluster ${cluster.name} cannot be listed: ${read.message}`);
  for (const line of read.unread) write(`note: ${sanitizeText(line)}`);
  const others = findSecondCcms(read.traces, new Date());
  for (const other of others) write(formatSecondCcm(other));
  return others;
}

function formatSecondCcm({ manager, lastSeen, isLive, controllers }: SecondCcm): string {
  const named = controllers
    .map(({ name, isRecent }) => (isRecent ? name : `${name} (not of late)`))
    .join(", ");
  const state = isLive ? "at work" : "quiet for 10 minutes and longer";
  return `other: ${manager}, ${state}, last seen ${sanitizeText(lastSeen)}${named === "" ? "" : `: ${named}`}`;
}
