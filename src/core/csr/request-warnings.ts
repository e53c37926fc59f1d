import { buildClusterEvent, type CodeOf } from "#core/cluster-events.ts";
import type { CertificateSigningRequest } from "#core/csr/csr.ts";
import type { ClusterEvent, Decision } from "#core/decision.ts";
import { toReference } from "#core/decisions.ts";
import type { Node } from "#core/node/node.ts";
import { NODES } from "#core/resources/resource.ts";
import { getNameFact, listUsageFacts, type TenantFact } from "#core/tenant-fact.ts";

/**
 * Returns Warnings about a certificate that is not issued: one on the request, and one on its node if the
 * cluster has it. A node's Warning is recorded once in ten minutes per code, so several requests of one node
 * need their own.
 */
export function buildRequestWarnings(
  node: Node | undefined,
  csr: CertificateSigningRequest,
  code: CodeOf<"ServingCertificate">,
  names: readonly TenantFact[] = [],
): ClusterEvent[] {
  const facts = { request: getNameFact(csr), usages: listUsageFacts(csr), names };
  const warning = buildClusterEvent("ServingCertificate", code, facts);
  return node === undefined ? [warning] : [{ ...warning, about: toReference(NODES, node) }, warning];
}

/**
 * Limits on the Warnings on requests in one batch. A node that floods the cluster with requests must not also
 * flood it with Events.
 */
const MAX_IN_BATCH = 20;
const MAX_OF_NODE_IN_BATCH = 5;

/**
 * Drops the Warnings on requests beyond the limits of a batch; those on nodes stay. The first request of
 * every node gets its Warning before the second one of any node.
 */
export function limitRequestWarnings(decisions: readonly Decision[]): readonly Decision[] {
  const perNode = new Map<string, number>();
  const ranked = decisions.flatMap((decision, index) => {
    if (!listEvents(decision).some(isOnRequest)) return [];
    const node = findWarnedNode(decision);
    const rank = perNode.get(node) ?? 0;
    perNode.set(node, rank + 1);
    return rank < MAX_OF_NODE_IN_BATCH ? [{ index, rank }] : [];
  });
  const kept = ranked.toSorted((a, b) => a.rank - b.rank).slice(0, MAX_IN_BATCH);
  const told = new Set(kept.map(({ index }) => index));
  return decisions.map((decision, index) =>
    "events" in decision && !told.has(index)
      ? { ...decision, events: decision.events.filter((event) => !isOnRequest(event)) }
      : decision,
  );
}

function listEvents(decision: Decision): readonly ClusterEvent[] {
  return "events" in decision ? decision.events : [];
}

function isOnRequest({ about }: ClusterEvent): boolean {
  return about === undefined;
}

/** The uid of the node with the Warning; requests without a node count as one node's. */
function findWarnedNode(decision: Decision): string {
  return listEvents(decision).find((event) => !isOnRequest(event))?.about?.uid ?? "";
}
