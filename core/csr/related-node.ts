import * as z from "zod";
import type { Related, RelatedObjects } from "#core/controller.ts";
import type { CertificateSigningRequest } from "#core/csr/csr.ts";
import { requestingNode } from "#core/csr/requestor.ts";
import { Node } from "#core/node/node.ts";
import { NODES } from "#core/resources/resource.ts";

const { name, uid, creationTimestamp, deletionTimestamp } = Node.shape.metadata.shape;

/** Of a node, what names it and its instance; what a kubelet keeps writing is no part of it, or each write would wake requests. */
export const RelatedNode = z.object({
  metadata: z.object({ name, uid, creationTimestamp, deletionTimestamp }),
  spec: z.object({ providerID: z.string().optional() }).prefault({}),
});
export type RelatedNode = z.output<typeof RelatedNode>;

/** A request reads the node that makes it. */
export const relatedNodes: Related<CertificateSigningRequest> = {
  resource: NODES,
  project: (object) => RelatedNode.safeParse(object).data,
  reads: (csr) => {
    const nodeName = requestingNode(csr);
    return nodeName === undefined ? [] : [nodeName];
  },
};

/**
 * The node that makes a request, as clouds are asked about nodes; undefined where there is none. For one event it is the same
 * value each time, so that all requests of a node are one question. Its addresses are not in it: they are its own claim.
 */
export function nodeOf(csr: CertificateSigningRequest, related: RelatedObjects): Node | undefined {
  const nodeName = requestingNode(csr);
  const list = related[NODES.name];
  return list === undefined || nodeName === undefined ? undefined : nodesOf(list.items).get(nodeName);
}

const known = new WeakMap<readonly unknown[], ReadonlyMap<string, Node>>();

function nodesOf(items: readonly unknown[]): ReadonlyMap<string, Node> {
  const before = known.get(items);
  if (before !== undefined) return before;
  const nodes = items.flatMap((item) => RelatedNode.safeParse(item).data ?? []);
  const byName = new Map(nodes.map((node) => [node.metadata.name, asNode(node)]));
  known.set(items, byName);
  return byName;
}

function asNode({ metadata, spec }: RelatedNode): Node {
  // Nothing is written on it, so no version of it is needed.
  return { metadata: { ...metadata, resourceVersion: "0" }, spec, status: {} };
}
