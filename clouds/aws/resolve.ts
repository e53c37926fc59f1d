import { resolveFargate } from "#clouds/aws/fargate.ts";
import type { AwsCluster } from "#clouds/aws/ownership.ts";
import { buildQuery } from "#clouds/aws/query.ts";
import { buildErrorResolution, type Resolution, type Resolutions } from "#clouds/aws/resolution.ts";
import { resolveById } from "#clouds/aws/resolve-by-id.ts";
import { resolveByName } from "#clouds/aws/resolve-by-name.ts";
import type { Session } from "#clouds/aws/session.ts";
import type { Node } from "#core/node/node.ts";

/** Resolves each node of a batch; every node gets a resolution, and none is a foreign instance. */
export async function resolve(
  nodes: readonly Node[],
  session: Session,
  cluster: AwsCluster,
): Promise<Resolutions> {
  const invalidProviderIds = new Map<Node, Resolution>();
  const ids = new Map<Node, string>();
  const addresses = new Map<Node, string>();
  const namedNodes: Node[] = [];
  for (const node of nodes) {
    const query = buildQuery(node);
    switch (query.kind) {
      case "instance-id":
        ids.set(node, query.id);
        break;
      case "fargate":
        addresses.set(node, query.address);
        break;
      case "name":
        namedNodes.push(node);
        break;
      case "foreign":
      case "invalid": {
        const code = query.kind === "foreign" ? "ForeignProviderID" : "InvalidProviderID";
        invalidProviderIds.set(
          node,
          buildErrorResolution(code, `node ${node.metadata.name}: ${query.message}`),
        );
        break;
      }
    }
  }
  const [byId, byAddress, byName] = await Promise.all([
    resolveById(ids, session, cluster),
    resolveFargate(addresses, session, cluster),
    resolveByName(namedNodes, session, cluster),
  ]);
  const all = new Map([...invalidProviderIds, ...byId, ...byAddress, ...byName.resolved]);
  return resolveDisputes(all, byName.guesses);
}

/**
 * Two nodes of a batch may be one instance: a node that rejoined under another name leaves its old object.
 * But if a guess alone found it for one node, another node's claim disproves the guess.
 */
function resolveDisputes(resolutions: Resolutions, guesses: ReadonlySet<Node>): Resolutions {
  const claims = new Map<string, Node[]>();
  for (const [node, resolution] of resolutions) {
    if (resolution.kind !== "instance") continue;
    claims.set(resolution.found.id, [...(claims.get(resolution.found.id) ?? []), node]);
  }
  const corrected = new Map(resolutions);
  for (const [id, claimants] of claims) {
    if (claimants.length < 2) continue;
    const names = claimants.map((node) => node.metadata.name).toSorted();
    for (const node of claimants.filter((each) => guesses.has(each))) {
      const message = `node ${node.metadata.name}: instance ${id} is claimed by ${names.join(" and ")}`;
      corrected.set(node, buildErrorResolution("Ambiguous", message));
    }
  }
  return corrected;
}
