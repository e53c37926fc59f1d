import * as z from "zod";
import type { CheckContext, LambdaReader, ListedNode, NodeList, Signer } from "#cli/doctor/check.ts";
import { listServices } from "#cli/doctor/list-services.ts";
import type { ReachableCluster } from "#cli/reach-cluster.ts";
import { diagnose } from "#clouds/diagnose.ts";
import { INSTANCE_ANNOTATION } from "#core/contracts.ts";
import { FUNCTION_IDENTITIES, type Identity } from "#core/identities.ts";
import { isUninitialized } from "#core/node/taints.ts";
import { collectionPath, NODES } from "#core/resources/resource.ts";
import { findWatch } from "#core/watches.ts";
import { systemClock } from "#kube/follow/clock.ts";
import { listAll } from "#kube/follow/list.ts";

/** Makes what checks look at; `close` ends what was opened for it, but the cluster. */
export function createCheckContext(
  reached: ReachableCluster,
  lambda: LambdaReader | undefined,
  now: () => Date = () => new Date(),
  stopSwitch?: string,
): CheckContext & { close(): Promise<void> } {
  const { cluster } = reached;
  const nodes = once(() => readNodes(reached));
  const services = once(() => listServices(reached));
  const cloud = once(() => diagnose(cluster.cloud, { clusterName: cluster.name }));
  return {
    reached,
    signers: signersOf(reached),
    ask: async (role, request) => (await reached.api(role)).send(request),
    nodes: nodes.get,
    services: services.get,
    cloud: cloud.get,
    lambda,
    stopSwitch,
    now,
    async close() {
      (await cloud.made()?.catch(() => undefined))?.close();
    },
  };
}

/** The relay, the functions of the cluster's controllers, and whoever else has a sign-in of its own. */
export function signersOf({
  cluster,
  signInOf,
}: Pick<ReachableCluster, "cluster" | "signInOf">): readonly Signer[] {
  const functions = cluster.controllers.map((name) => findWatch(name)?.functionName);
  const identities: readonly Identity[] = [
    "relay",
    ...FUNCTION_IDENTITIES.filter((name) => functions.includes(name) || signInOf(name) === name),
  ];
  // Whoever has nothing to sign in with has a line of its own, which says so.
  const bySignIn = Map.groupBy(identities, (identity) => signInOf(identity) ?? identity);
  return [...bySignIn.values()].flatMap((group) => {
    const [role] = group;
    return role === undefined ? [] : [{ name: group.join(", "), role, identities: group }];
  });
}

/** Nodes beyond are not looked at. */
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

function listedOf(node: unknown): ListedNode | undefined {
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
  const project = (node: unknown, kept: number) => (kept < MAX_NODES ? listedOf(node) : undefined);
  const list = await listAll(transport, collectionPath(NODES), project, signal, { clock: systemClock });
  if (list.kind === "failed") throw new Error(`nodes cannot be listed: ${list.message}`);
  return { nodes: list.items, isCut: !list.complete || list.objects > MAX_NODES };
}

function once<Value>(make: () => Promise<Value>): {
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
