import type { Locator, Whereabouts } from "#clouds/aws/locate-instance.ts";
import { type Cluster, watchContextOf } from "#config/cluster.ts";
import type { Because } from "#core/decision.ts";
import { messageOf } from "#core/message-of.ts";
import type { Node } from "#core/node/node.ts";
import { nodeLifecycleWatch } from "#core/node-lifecycle/watch.ts";
import type { Stop } from "#core/stop.ts";
import { eventOf } from "#delivery/event-of-batch.ts";
import type { Invoker } from "#delivery/invoker.ts";
import { type AwsEntry, clustersOf } from "#functions/parts/ec2-events/clusters-of.ts";
import { findNodes } from "#functions/parts/ec2-events/find-nodes.ts";
import { isEnding, type StateChange } from "#functions/parts/ec2-events/state-change.ts";
import type { Log } from "#functions/parts/log-report.ts";
import type { Transport } from "#kube/client/transport.ts";

/** What the function touches. */
export interface Ec2EventsWorld {
  clusters(): Promise<readonly Cluster[]>;
  api(cluster: Cluster): Promise<Transport>;
  aws(): Promise<Locator & { readonly instanceIdOf: (providerID: string) => string | undefined }>;
  readonly invoker: Pick<Invoker, "invoke">;
  nextEventId(cluster: Cluster): string;
  /** What operators have stopped for a cluster; nothing without it. Never rejects. */
  readonly stopOf?: ((cluster: string) => Promise<Stop | undefined>) | undefined;
  readonly log: Log;
}

/** What came of an event. */
export interface Ec2EventResult {
  readonly instance: string;
  /** Clusters whose nodes were looked through. */
  readonly clusters: number;
  /** Nodes that the node lifecycle was told to look at. */
  readonly nodes: number;
  /** Why nothing was to be done, where nothing was. */
  readonly because?: Because;
}

/** Of an instance of which nothing is left to tell, so many clusters at most are looked through, … */
const MAX_CLUSTERS = 100;
/** … so many at a time. */
const AT_ONCE = 8;

/**
 * Has the node of an instance that is ending looked at now, and not at the next turn: whether it is deleted, and when, is the node
 * lifecycle's affair. Whatever is missed here a relay or a sweep finds, a little later.
 */
export async function lookAtOnce(
  change: StateChange,
  world: Ec2EventsWorld,
  { ownAccount, signal }: { readonly ownAccount: string | undefined; readonly signal: AbortSignal },
): Promise<Ec2EventResult> {
  const { account, detail } = change;
  const id = detail["instance-id"];
  const entries = clustersOf(change, await world.clusters(), ownAccount);
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
  const chosen = isForgotten ? entries.slice(0, MAX_CLUSTERS) : ownersOf(where, entries);
  if (chosen.length === 0) return dropped(...whyNobody(where));
  const enabled = chosen.filter(({ cluster }) => isLookedAt(cluster));
  const sought = { id, account, isOwners: !isForgotten, instanceIdOf: aws.instanceIdOf };
  const counts: number[] = [];
  for (let at = 0; at < enabled.length && !signal.aborted; at += AT_ONCE) {
    const looks = enabled.slice(at, at + AT_ONCE).map(async (entry) => {
      const found = await nodesOf(entry);
      return found.length === 0 ? 0 : tell(entry.cluster, found, change, world, signal);
    });
    counts.push(...(await Promise.all(looks)));
  }
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
      return failed("SignInUnusable", messageOf(error));
    }
  }
}

/** Of a cluster whose relay writes no function can read the nodes: there the relay looks in its turn. */
function isLookedAt({ controllers, writes }: Cluster): boolean {
  return controllers.includes(nodeLifecycleWatch.name) && writes !== "relay";
}

function ownersOf(where: Whereabouts, entries: readonly AwsEntry[]): readonly AwsEntry[] {
  return where.kind === "known" ? entries.filter(({ aws }) => where.owners.includes(aws)) : [];
}

function whyNobody(where: Whereabouts): [code: string, message: string] {
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

/** Answers with the number of nodes that there is a report on. */
async function tell(
  cluster: Cluster,
  nodes: readonly Node[],
  { detail }: StateChange,
  { invoker, nextEventId, stopOf, log }: Ec2EventsWorld,
  signal: AbortSignal,
): Promise<number> {
  const watch = nodeLifecycleWatch;
  const context = watchContextOf(cluster);
  const eventId = nextEventId(cluster);
  const event = eventOf(
    {
      id: eventId,
      cluster,
      clusterHash: cluster.hash,
      controller: watch.name,
      reason: "monitor",
      related: undefined,
      busy: false,
      stop: await stopOf?.(cluster.name),
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
