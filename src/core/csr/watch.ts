import * as z from "zod";
import type { RelatedObjects } from "#core/controller.ts";
import { needsWork } from "#core/csr/conditions.ts";
import { CertificateSigningRequest, getRequestingNode } from "#core/csr/csr.ts";
import { csrDescriptor } from "#core/csr/descriptor.ts";
import { Node } from "#core/node/node.ts";
import { CERTIFICATE_SIGNING_REQUESTS, NODES } from "#core/resources/resource.ts";
import { type ParsedObject, parseObject, type Related, type Watch } from "#core/watch.ts";

const { name, uid, creationTimestamp, deletionTimestamp } = Node.shape.metadata.shape;

/**
 * The fields that identify a node and its instance. A kubelet's regular writes are not included, because each
 * would wake requests.
 */
export const RelatedNode = z.object({
  metadata: z.object({ name, uid, creationTimestamp, deletionTimestamp }),
  spec: z.object({ providerID: z.string().optional() }).prefault({}),
});
export type RelatedNode = z.output<typeof RelatedNode>;

/** The related node of a request: the requesting one. */
export const relatedNodes: Related<CertificateSigningRequest> = {
  resource: NODES,
  project: (object) => RelatedNode.safeParse(object).data,
  reads: (csr) => {
    const nodeName = getRequestingNode(csr);
    return nodeName === undefined ? [] : [nodeName];
  },
};

/**
 * Returns the requesting node for questions to the cloud; undefined if it is not found. Within one event the
 * result is one value, so all requests of a node share one question. It contains no addresses, because these
 * are the node's own claim.
 */
export function findRequestingNode(
  csr: CertificateSigningRequest,
  related: RelatedObjects,
): Node | undefined {
  const nodeName = getRequestingNode(csr);
  const list = related[NODES.name];
  return list === undefined || nodeName === undefined
    ? undefined
    : indexNodesByName(list.items).get(nodeName);
}

const nodesByList = new WeakMap<readonly unknown[], ReadonlyMap<string, Node>>();

function indexNodesByName(items: readonly unknown[]): ReadonlyMap<string, Node> {
  const before = nodesByList.get(items);
  if (before !== undefined) return before;
  const nodes = items.flatMap((item) => RelatedNode.safeParse(item).data ?? []);
  const byName = new Map(nodes.map((node) => [node.metadata.name, toNode(node)]));
  nodesByList.set(items, byName);
  return byName;
}

function toNode({ metadata, spec }: RelatedNode): Node {
  // The node is not written, so its version is not needed.
  return { metadata: { ...metadata, resourceVersion: "0" }, spec, status: {} };
}

/** The watch half of the csr-approver: kubelets that wait for their serving certificates. */
export const csrWatch: Watch<CertificateSigningRequest> = {
  name: csrDescriptor.name,
  functionName: csrDescriptor.functionName,
  resource: CERTIFICATE_SIGNING_REQUESTS,
  scope: "object",
  enablement: csrDescriptor.enablement,
  parse: parseCsr,
  snapshot: projectCsr,
  needsWork,
  related: [relatedNodes],
};

/** Parses a whole CertificateSigningRequest or its snapshot; never throws. */
export function parseCsr(value: unknown): ParsedObject<CertificateSigningRequest> {
  return parseObject(CertificateSigningRequest, value);
}

/** Returns the part of a request that decisions read; without its content if it needs no work. */
function projectCsr(csr: CertificateSigningRequest): CertificateSigningRequest {
  if (needsWork(csr)) return csr;
  const { request: _request, ...spec } = csr.spec;
  return { ...csr, spec };
}
