import * as z from "zod";
import type { ReachableCluster } from "#cli/clusters/reach-cluster.ts";
import { findNearest } from "#core/nearest.ts";
import type { Node } from "#core/node/node.ts";
import { parseNode } from "#core/node/snapshot.ts";
import { formatCollectionPath, NODES } from "#core/resources/resource.ts";
import { sanitizeText } from "#core/sanitize-text.ts";
import { systemClock } from "#kube/follow/clock.ts";
import { listAll, listByName } from "#kube/follow/list.ts";

const MAX_NEAREST = 3;

const MAX_NAME = 253;

/**
 * Formats what an unknown name may mean, as the end of a sentence; `of` names the kind of the names, in the
 * plural.
 */
export function formatNameHint(name: string, names: readonly string[], of: string): string {
  const near: string[] = [];
  for (let each = 0; each < MAX_NEAREST; each += 1) {
    const next = findNearest(
      name,
      names.filter((known) => !near.includes(known)),
    );
    if (next !== undefined) near.push(next);
  }
  // A name is often given without its domain, or with another domain.
  const label = name.split(".")[0] ?? name;
  const alike = names.filter((known) => label !== "" && known.split(".")[0] === label);
  const meant = [...new Set([...near, ...alike])]
    .slice(0, MAX_NEAREST)
    .map((each) => sanitizeText(each, MAX_NAME));
  if (meant.length > 0) return `; did you mean ${meant.join(" or ")}?`;
  return names.length === 0
    ? `; it has no ${of}`
    : `; it has ${names.length} others, none with a similar name`;
}

/** The limit of nodes whose names are compared with an unknown one. */
const MAX_NODES = 10_000;

const MAX_NODE_NAME = 253;

const Named = z.object({ metadata: z.object({ name: z.string() }) });

/**
 * Reads a node with the relay's rights, which allow lists. Rejects an unknown name and names similar ones.
 */
export async function readNode(reached: ReachableCluster, name: string, signal: AbortSignal): Promise<Node> {
  const transport = await reached.api("relay");
  const path = formatCollectionPath(NODES);
  const page = await listByName(transport, path, { name }, signal);
  if (page.kind === "expired")
    throw new Error(`node "${sanitizeText(name, MAX_NODE_NAME)}" cannot be read: the list expired`);
  if (page.kind === "failed")
    throw new Error(`node "${sanitizeText(name, MAX_NODE_NAME)}" cannot be read: ${page.message}`);
  const [found] = page.items;
  if (found !== undefined) {
    const parsed = parseNode(found);
    if (parsed.kind === "object") return parsed.object;
    const faults = parsed.faults.map(({ path: at, message }) => `${at}: ${message}`).join("; ");
    throw new Error(
      `node "${sanitizeText(name, MAX_NODE_NAME)}" is not what a node is: ${sanitizeText(faults)}`,
    );
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
    `cluster ${reached.cluster.name} has no node "${sanitizeText(name, MAX_NODE_NAME)}"${formatNameHint(name, names, "nodes")}`,
  );
}
