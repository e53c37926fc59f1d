import { INSTANCE_ANNOTATION } from "#core/contracts.ts";
import type { Node } from "#core/node/node.ts";
import { parseNode } from "#core/node/snapshot.ts";
import { formatCollectionPath, NODES } from "#core/resources/resource.ts";
import type { AwsEntry } from "#functions/parts/ec2-events/select-clusters.ts";
import type { Transport } from "#kube/client/transport.ts";
import { systemClock } from "#kube/follow/clock.ts";
import { listAll } from "#kube/follow/list.ts";
import type { RequestFailure } from "#kube/follow/request-failure.ts";

/** The search for an instance's nodes in a cluster. */
export interface NodeQuery {
  readonly id: string;
  readonly account: string;
  /**
   * Whether the instance is known to belong to the cluster, so that a provider ID alone identifies its node.
   */
  readonly isOwners: boolean;
  /** Returns the instance id in a provider ID. */
  readonly getInstanceId: (providerID: string) => string | undefined;
}

/** An instance may have a few old Node objects besides its current one. */
const MAX_NODES = 10;

/** Finds the nodes of an instance, by provider ID or by the annotation set at initialization. */
export async function findNodes(
  { cluster, aws }: AwsEntry,
  sought: NodeQuery,
  transport: Transport,
  signal: AbortSignal,
): Promise<{ readonly kind: "nodes"; readonly nodes: readonly Node[] } | RequestFailure> {
  const isSought = (node: Node): boolean =>
    isAnnotated(node, sought, aws.vpc) || (sought.isOwners && isNamed(node, sought));
  const project = (object: unknown, kept: number): Node | undefined => {
    if (kept >= MAX_NODES) return undefined;
    const parsed = parseNode(object);
    return parsed.kind === "object" && isSought(parsed.object) ? parsed.object : undefined;
  };
  const list = await listAll(transport, formatCollectionPath(NODES), project, signal, {
    bounds: cluster.limits,
    clock: systemClock,
  });
  return list.kind === "list" ? { kind: "nodes", nodes: list.items } : list;
}

function isNamed({ spec: { providerID } }: Node, { id, getInstanceId }: NodeQuery): boolean {
  return providerID !== undefined && getInstanceId(providerID) === id;
}

/** Account and id as EC2 names them, and the network if one is configured. */
function isAnnotated({ metadata: { annotations } }: Node, { id, account }: NodeQuery, vpc?: string): boolean {
  const [ofAccount, network, ofId, ...more] = annotations?.[INSTANCE_ANNOTATION]?.split("/") ?? [];
  if (ofAccount !== account || ofId !== id || more.length > 0) return false;
  return vpc === undefined || network === vpc;
}
