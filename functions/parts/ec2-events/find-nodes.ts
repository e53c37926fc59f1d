import { INSTANCE_ANNOTATION } from "#core/contracts.ts";
import type { Node } from "#core/node/node.ts";
import { parseNode } from "#core/node/snapshot.ts";
import { collectionPath, NODES } from "#core/resources/resource.ts";
import type { AwsEntry } from "#functions/parts/ec2-events/clusters-of.ts";
import type { Transport } from "#kube/client/transport.ts";
import { systemClock } from "#kube/follow/clock.ts";
import { listAll } from "#kube/follow/list.ts";
import type { RequestFailure } from "#kube/follow/request-failure.ts";

/** What is looked for in a cluster. */
export interface Sought {
  readonly id: string;
  readonly account: string;
  /** Whether the cluster is known to be the instance's: a node may then name it by its provider ID alone. */
  readonly isOwners: boolean;
  /** The id of the instance that a provider ID names. */
  readonly instanceIdOf: (providerID: string) => string | undefined;
}

/** Old objects of one instance beside its node there may be some, but not many. */
const MAX_NODES = 10;

/** The nodes of a cluster that are the instance, by provider ID or by the annotation of their initialization. */
export async function findNodes(
  { cluster, aws }: AwsEntry,
  sought: Sought,
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
  const list = await listAll(transport, collectionPath(NODES), project, signal, {
    bounds: cluster.limits,
    clock: systemClock,
  });
  return list.kind === "list" ? { kind: "nodes", nodes: list.items } : list;
}

function isNamed({ spec: { providerID } }: Node, { id, instanceIdOf }: Sought): boolean {
  return providerID !== undefined && instanceIdOf(providerID) === id;
}

/** Account and id as EC2 names them, and the network that is configured, where one is. */
function isAnnotated({ metadata: { annotations } }: Node, { id, account }: Sought, vpc?: string): boolean {
  const [ofAccount, network, ofId, ...more] = annotations?.[INSTANCE_ANNOTATION]?.split("/") ?? [];
  if (ofAccount !== account || ofId !== id || more.length > 0) return false;
  return vpc === undefined || network === vpc;
}
