import { type CodeOf, tell } from "#core/cluster-events.ts";
import type { CertificateSigningRequest } from "#core/csr/csr.ts";
import type { ClusterEvent, Decision } from "#core/decision.ts";
import { referenceTo } from "#core/decisions.ts";
import type { Node } from "#core/node/node.ts";
import { NODES } from "#core/resources/resource.ts";
import { nameOf, type TenantFact, usagesOf } from "#core/tenant-fact.ts";

/**
 * Warnings that a certificate is not coming: one on the request, and one on its node where the cluster has that. The node's is
 * recorded once in ten minutes for a code, so that several requests of one node need their own.
 */
export function warnOfRequest(
  node: Node | undefined,
  csr: CertificateSigningRequest,
  code: CodeOf<"ServingCertificate">,
  names: readonly TenantFact[] = [],
): ClusterEvent[] {
  const facts = { request: nameOf(csr), usages: usagesOf(csr), names };
  const warning = tell("ServingCertificate", code, facts);
  return node === undefined ? [warning] : [{ ...warning, about: referenceTo(NODES, node) }, warning];
}

/** Limits on the Warnings on requests in one batch: a node that floods the cluster with requests does not fill it with Events, too. */
const MAX_IN_BATCH = 20;
const MAX_OF_NODE_IN_BATCH = 5;

/**
 * Leaves out the Warnings on requests beyond the limits of a batch; those on nodes stay. Each node has its first request told before
 * any node has its second one told.
 */
export function limitRequestWarnings(decisions: readonly Decision[]): readonly Decision[] {
  const perNode = new Map<string, number>();
  const ranked = decisions.flatMap((decision, index) => {
    if (!eventsIn(decision).some(isOnRequest)) return [];
    const node = nodeToldIn(decision);
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

function eventsIn(decision: Decision): readonly ClusterEvent[] {
  return "events" in decision ? decision.events : [];
}

function isOnRequest({ about }: ClusterEvent): boolean {
  return about === undefined;
}

/** The uid of the node that is told; requests without a node count as one node's. */
function nodeToldIn(decision: Decision): string {
  return eventsIn(decision).find((event) => !isOnRequest(event))?.about?.uid ?? "";
}
