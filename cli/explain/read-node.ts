import * as z from "zod";
import { hintFor } from "#cli/explain/name-hint.ts";
import type { ReachableCluster } from "#cli/reach-cluster.ts";
import type { Node } from "#core/node/node.ts";
import { parseNode } from "#core/node/snapshot.ts";
import { collectionPath, NODES } from "#core/resources/resource.ts";
import { shown } from "#core/shown-text.ts";
import { systemClock } from "#kube/follow/clock.ts";
import { listAll, listByName } from "#kube/follow/list.ts";

/** Nodes whose names are compared with one that is none. */
const MAX_NODES = 10_000;
const MAX_NAME = 253;

const Named = z.object({ metadata: z.object({ name: z.string() }) });

/** Reads a node as the relay may, which lists; rejects where there is none of that name, with those that may be meant. */
export async function readNode(reached: ReachableCluster, name: string, signal: AbortSignal): Promise<Node> {
  const transport = await reached.api("relay");
  const path = collectionPath(NODES);
  const page = await listByName(transport, path, { name }, signal);
  if (page.kind === "expired")
    throw new Error(`node "${shown(name, MAX_NAME)}" cannot be read: the list expired`);
  if (page.kind === "failed")
    throw new Error(`node "${shown(name, MAX_NAME)}" cannot be read: ${page.message}`);
  const [found] = page.items;
  if (found !== undefined) {
    const parsed = parseNode(found);
    if (parsed.kind === "object") return parsed.object;
    const faults = parsed.faults.map(({ path: at, message }) => `${at}: ${message}`).join("; ");
    throw new Error(`node "${shown(name, MAX_NAME)}" is not what a node is: ${shown(faults)}`);
  }
  const list = await listAll(
    transport,
    path,
    (node, kept) => (kept < MAX_NODES ? Named.safeParse(node).data?.metadata.name : undefined),
    signal,
    { clock: systemClock },
  );
  const names = list.kind === "list" ? list.items : [];
  throw new Error(
    `cluster ${reached.cluster.name} has no node "${shown(name, MAX_NAME)}"${hintFor(name, names, "nodes")}`,
  );
}
