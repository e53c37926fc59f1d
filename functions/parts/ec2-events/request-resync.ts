import type { InstanceLocation, Locator } from "#clouds/aws/locate-instance.ts";
import type { AwsCluster } from "#clouds/aws/ownership.ts";
import { buildWatchContext, type Cluster } from "#config/cluster.ts";
import { INSTANCE_ANNOTATION } from "#core/contracts.ts";
import type { Node } from "#core/node/node.ts";
import { parseNode } from "#core/node/snapshot.ts";
import { nodeLifecycleWatch } from "#core/node-lifecycle/watch.ts";
import type { Reason } from "#core/reason.ts";
import { formatCollectionPath, NODES } from "#core/resources/resource.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";
import type { Stop } from "#core/stop.ts";
import { buildBatchEvent } from "#delivery/batch-event.ts";
import { Ec2EventRejected, isEnding, type StateChange } from "#functions/parts/ec2-events/state-change.ts";
import type { Log } from "#functions/parts/log-report.ts";
import { startAtMost } from "#kube/client/semaphore.ts";
import type { Transport } from "#kube/client/transport.ts";
import { systemClock } from "#kube/follow/clock.ts";
import { listAll } from "#kube/follow/list.ts";
import type { RequestFailure } from "#kube/follow/request-failure.ts";
import type { Invoker } from "#platforms/invoker.ts";

/** The dependencies of the function. */
export interface Ec2EventsDependencies {
  clusters(): Promise<readonly Cluster[]>;
  api(cluster: Cluster): Promise<Transport>;
  aws(): Promise<Locator & { readonly instanceIdOf: (providerID: string) => string | undefined }>;
  readonly invoker: Pick<Invoker, "invoke">;
  nextEventId(cluster: Cluster): string;
  /** Returns the operators' stop for a cluster; default: no stop. Never rejects. */
  readonly readStop?: ((cluster: string) => Promise<Stop | undefined>) | undefined;
  readonly log: Log;
}

/** The result of an event. */
export interface Ec2EventResult {
  readonly instance: string;
  /** Clusters whose nodes were searched. */
  readonly clusters: number;
  /** Nodes sent to the node-lifecycle function. */
  readonly nodes: number;
  /** Why nothing was necessary. */
  readonly because?: Reason;
}

/** The maximum of clusters searched for an instance that no longer has an ownership tag. */
const MAX_CLUSTERS = 100;

/** How many of these clusters are searched at a time. */
const AT_ONCE = 8;

/**
 * Has the node of an ending instance checked at once, not at the next resync. The node-lifecycle function
 * decides whether and when to delete it. A relay or sweep later finds what this function misses.
 */
export async function requestResync(
  change: StateChange,
  world: Ec2EventsDependencies,
  { ownAccount, signal }: { readonly ownAccount: string | undefined; readonly signal: AbortSignal },
): Promise<Ec2EventResult> {
  const { account, detail } = change;
  const id = detail["instance-id"];
  const entries = selectClusters(change, await world.clusters(), ownAccount);
  const dropped = (code: string, message: string): Ec2EventResult => {
    world.log({
      level: "info",
      event: "InstanceChangeDropped",
      instance: id,
      state: detail.state,
      code,
      message,
    });
    return { instance: id, clusters: 0, nodes: 0, because: { code, message } };
  };
  if (!isEnding(change))
    return dropped("NotEnding", `an instance that is ${detail.state} is no matter of nodes that go`);
  if (entries.length === 0)
    return dropped("NoCluster", "no cluster is configured for its account and region");
  const aws = await world.aws();
  const where = await aws.locate(
    id,
    entries.map((entry) => entry.aws),
    signal,
  );
  const isForgotten =
    where.kind === "forgotten" || (where.kind === "absent" && detail.state === "terminated");
  const chosen = isForgotten ? entries : selectOwners(where, entries);
  if (chosen.length === 0) return dropped(...describeUnowned(where));
  const enabled = chosen.filter(({ cluster }) => needsResync(cluster)).slice(0, MAX_CLUSTERS);
  const sought = { id, account, isOwners: !isForgotten, getInstanceId: aws.instanceIdOf };
  // A silent API server takes one of the places, and holds up no other cluster.
  const searches = startAtMost(AT_ONCE, enabled, async (entry): Promise<number[]> => {
    if (signal.aborted) return [];
    const found = await nodesOf(entry);
    return [found.length === 0 ? 0 : await tell(entry.cluster, found, change, world, signal)];
  });
  const counts = (await Promise.all(searches)).flat();
  const nodes = counts.reduce((sum, count) => sum + count, 0);
  if (nodes === 0) {
    const { because } = dropped(
      "NoNode",
      `none of ${enabled.length} clusters has a node that is known to be it`,
    );
    return { instance: id, clusters: counts.length, nodes, ...(because === undefined ? {} : { because }) };
  }
  return { instance: id, clusters: counts.length, nodes };

  async function nodesOf(entry: AwsEntry): Promise<readonly Node[]> {
    const failed = (code: string, message: string): readonly Node[] => {
      world.log({
        level: "warn",
        event: "ReadFailed",
        cluster: entry.cluster.name,
        resource: "nodes",
        code,
        message,
      });
      return [];
    };
    try {
      const found = await findNodes(entry, sought, await world.api(entry.cluster), signal);
      return found.kind === "nodes" ? found.nodes : failed(found.code, found.message);
    } catch (error) {
      return failed("SignInUnusable", getErrorMessage(error));
    }
  }
}

/** Functions cannot read the nodes of a cluster whose relay writes; that relay resyncs them itself. */
function needsResync({ controllers, writes }: Cluster): boolean {
  return controllers.includes(nodeLifecycleWatch.name) && writes !== "relay";
}

function selectOwners(where: InstanceLocation, entries: readonly AwsEntry[]): readonly AwsEntry[] {
  return where.kind === "known" ? entries.filter(({ aws }) => where.owners.includes(aws)) : [];
}

function describeUnowned(where: InstanceLocation): [code: string, message: string] {
  switch (where.kind) {
    case "fault":
      return [where.fault.code, where.fault.message];
    case "absent":
      return ["InstanceNotFound", "EC2 has no such instance"];
    case "known":
    case "forgotten":
      return ["Foreign", "it is not an instance of any cluster here"];
  }
}

/** Returns the number of reported nodes. */
async function tell(
  cluster: Cluster,
  nodes: readonly Node[],
  { detail }: StateChange,
  { invoker, nextEventId, readStop, log }: Ec2EventsDependencies,
  signal: AbortSignal,
): Promise<number> {
  const watch = nodeLifecycleWatch;
  const context = buildWatchContext(cluster);
  const eventId = nextEventId(cluster);
  const event = buildBatchEvent(
    {
      id: eventId,
      cluster,
      clusterHash: cluster.hash,
      controller: watch.name,
      reason: "monitor",
      related: undefined,
      busy: false,
      stop: await readStop?.(cluster.name),
      deletes: watch.deletes,
    },
    nodes.map((node) => ({ uid: node.metadata.uid, snapshot: watch.snapshot(node, context) })),
  );
  const common = { cluster: cluster.name, controller: watch.name, eventId };
  const invocation = await invoker.invoke(event, signal);
  if (invocation.kind === "failed") {
    const { code, message } = invocation;
    log({ level: "warn", event: "InvocationFailed", ...common, code, message });
    return 0;
  }
  const about = { instance: detail["instance-id"], state: detail.state, objects: nodes.length };
  log({ level: "info", event: "InstanceChanged", ...common, ...about });
  return nodes.length;
}

/** The search for an instance's nodes in a cluster. */
interface NodeQuery {
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
async function findNodes(
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

/** A cluster on AWS with its cloud configuration. */
interface AwsEntry {
  readonly cluster: Cluster;
  readonly aws: AwsCluster;
}

/**
 * Selects the clusters of the event's account and region. Throws `Ec2EventRejected` if the account is neither
 * the function's own nor that of any cluster's role. Senders on the bus are not authenticated and must not
 * choose what is searched.
 */
export function selectClusters(
  { account, region }: StateChange,
  clusters: readonly Cluster[],
  ownAccount: string | undefined,
): readonly AwsEntry[] {
  const entries = clusters.flatMap(toAwsEntries);
  const accounts = new Set([ownAccount, ...entries.map((entry) => getAccount(entry, ownAccount))]);
  if (!accounts.has(account))
    throw new Ec2EventRejected(
      `account ${account} is neither this function's nor that of any cluster's roleArn`,
    );
  return entries.filter((entry) => entry.aws.region === region && getAccount(entry, ownAccount) === account);
}

function toAwsEntries(cluster: Cluster): AwsEntry[] {
  const { cloud, name } = cluster;
  return cloud.provider === "aws" ? [{ cluster, aws: { ...cloud, clusterName: name } }] : [];
}

/**
 * Returns the account of a cluster's role, or the function's own without a role. The account of access keys
 * is unknown.
 */
function getAccount(
  { aws: { roleArn, credentials } }: AwsEntry,
  ownAccount: string | undefined,
): string | undefined {
  if (roleArn !== undefined) return roleArn.split(":")[4];
  return credentials === undefined ? ownAccount : undefined;
}
