import * as z from "zod";
import type { ReachableCluster } from "#cli/clusters/reach-cluster.ts";
import type { CheckContext, ListedNode, ListedService, NodeList, Signer } from "#cli/doctor/check.ts";
import { diagnose } from "#clouds/providers.ts";
import { selectSettings } from "#config/cluster.ts";
import { INSTANCE_ANNOTATION } from "#core/contracts.ts";
import { findWatch } from "#core/controllers.ts";
import { FUNCTION_IDENTITIES, type Identity } from "#core/identities.ts";
import { isUninitialized } from "#core/node/taints.ts";
import { formatCollectionPath, NODES, SERVICES } from "#core/resources/resource.ts";
import { hasFinalizer, isMarked, needsLoadBalancer } from "#core/service/needs-work.ts";
import { parseService } from "#core/service/snapshot.ts";
import type { Settings } from "#core/settings.ts";
import { systemClock } from "#kube/follow/clock.ts";
import { listAll } from "#kube/follow/list.ts";

/** Creates the input of checks; `close` closes what was opened for it, except the cluster. */
export function createCheckContext(
  reached: ReachableCluster,
  functions: Pick<CheckContext, "lambda" | "http">,
  now: () => Date = () => new Date(),
  stopSwitch?: string,
): CheckContext & { close(): Promise<void> } {
  const { cluster } = reached;
  const nodes = memoize(() => readNodes(reached));
  const services = memoize(() => listServices(reached));
  const cloud = memoize(() => diagnose(cluster.cloud, { clusterName: cluster.name }));
  return {
    reached,
    signers: listSigners(reached),
    ask: async (role, request) => (await reached.api(role)).send(request),
    nodes: nodes.get,
    services: services.get,
    cloud: cloud.get,
    ...functions,
    stopSwitch,
    now,
    async close() {
      (await cloud.made()?.catch(() => undefined))?.close();
    },
  };
}

/**
 * Lists the relay, the functions of the cluster's controllers, and every other identity with a sign-in of its
 * own.
 */
export function listSigners({
  cluster,
  signInOf,
}: Pick<ReachableCluster, "cluster" | "signInOf">): readonly Signer[] {
  const functions = cluster.controllers.map((name) => findWatch(name)?.functionName);
  const identities: readonly Identity[] = [
    "relay",
    ...FUNCTION_IDENTITIES.filter((name) => functions.includes(name) || signInOf(name) === name),
  ];
  // An identity without a sign-in has a line of its own, which says so.
  const bySignIn = Map.groupBy(identities, (identity) => signInOf(identity) ?? identity);
  return [...bySignIn.values()].flatMap((group) => {
    const [role] = group;
    return role === undefined ? [] : [{ name: group.join(", "), role, identities: group }];
  });
}

/** The limit of nodes that are read. */
const MAX_NODES = 10_000;

const NODES_TIMEOUT_MS = 60_000;

const Listed = z.object({
  metadata: z.object({
    name: z.string(),
    creationTimestamp: z.string().optional().catch(undefined),
    annotations: z.record(z.string(), z.string()).optional().catch(undefined),
  }),
  spec: z
    .object({
      providerID: z.string().optional().catch(undefined),
      taints: z
        .array(z.object({ key: z.string() }))
        .optional()
        .catch(undefined),
    })
    .catch({})
    .prefault({}),
});

function parseListedNode(node: unknown): ListedNode | undefined {
  const parsed = Listed.safeParse(node).data;
  if (parsed === undefined) return undefined;
  const { metadata, spec } = parsed;
  return {
    name: metadata.name,
    providerID: spec.providerID || undefined,
    isUninitialized: isUninitialized({ spec }),
    isOurs: metadata.annotations?.[INSTANCE_ANNOTATION] !== undefined,
    createdAt: metadata.creationTimestamp,
  };
}

async function readNodes(reached: ReachableCluster): Promise<NodeList> {
  const transport = await reached.api("relay");
  const signal = AbortSignal.timeout(NODES_TIMEOUT_MS);
  const project = (node: unknown, kept: number) => (kept < MAX_NODES ? parseListedNode(node) : undefined);
  const list = await listAll(transport, formatCollectionPath(NODES), project, signal, { clock: systemClock });
  if (list.kind === "failed") throw new Error(`nodes cannot be listed: ${list.message}`);
  return { nodes: list.items, isCut: !list.complete || list.objects > MAX_NODES };
}

function memoize<Value>(make: () => Promise<Value>): {
  get(): Promise<Value>;
  made(): Promise<Value> | undefined;
} {
  let made: Promise<Value> | undefined;
  return {
    get() {
      made ??= make();
      return made;
    },
    made: () => made,
  };
}

/**
 * Lists the Services that have a load balancer of ours or request one, with the relay's rights; rejects if
 * those do not suffice.
 */
export async function listServices(reached: ReachableCluster): Promise<readonly ListedService[]> {
  const transport = await reached.api("relay");
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const settings = selectSettings(reached.cluster);
  const listed = (object: unknown): ListedService | undefined => toListedService(object, settings);
  const list = await listAll(transport, formatCollectionPath(SERVICES), listed, signal, {
    clock: systemClock,
  });
  if (list.kind === "failed") throw new Error(`Services cannot be listed: ${list.message}`);
  return list.items;
}

const TIMEOUT_MS = 60_000;

function toListedService(object: unknown, settings: Settings): ListedService | undefined {
  const parsed = parseService(object);
  if (parsed.kind === "malformed") return undefined;
  const service = parsed.object;
  if (hasFinalizer(service) && isMarked(service)) return { service, standing: "holds" };
  return needsLoadBalancer(service, settings) ? { service, standing: "waits" } : undefined;
}
