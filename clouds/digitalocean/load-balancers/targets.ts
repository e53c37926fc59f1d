import { isIPv4, isIPv6 } from "node:net";
import type { Droplet } from "#clouds/digitalocean/droplet.ts";
import type { Observing } from "#clouds/digitalocean/load-balancers/observe.ts";
import type { TargetDroplet } from "#clouds/digitalocean/load-balancers/state.ts";
import { parseProviderID } from "#clouds/digitalocean/provider-id.ts";
import type { Fault, Outcome } from "#clouds/http/outcome.ts";
import { type Queried, type Query, queryOf } from "#clouds/listed/query.ts";
import { type Resolution, resolve } from "#clouds/listed/resolve.ts";
import { ok } from "#clouds/outcome.ts";
import type { LoadBalancerQuestion, TargetNode } from "#core/service/model.ts";

/** Tells of nodes which droplets they are; a fault where the API as a whole cannot be asked. */
export type Targets = (nodes: readonly TargetNode[]) => Outcome<readonly TargetDroplet[]>;

/**
 * Finds the droplets of all nodes that Services of a batch send to, as the node controller finds them: from one list, and only such as are
 * the cluster's. A node says of itself what its tenant likes.
 */
export async function observeTargets(
  questions: readonly LoadBalancerQuestion[],
  { sources, turn }: Observing,
): Promise<Targets> {
  const nodes = new Map<string, Queried>();
  for (const { nodes: some, wanted } of questions)
    if (wanted) for (const node of some) nodes.set(keyOf(node), queriedOf(node));
  if (nodes.size === 0) return () => ok([]);
  const queries = new Map([...nodes.values()].map((node) => [node, queryOf(node, parseProviderID)]));
  const resolutions = await resolve(queries, sources, turn);
  const told = new Map<string, TargetDroplet>();
  let trouble: Fault | undefined;
  for (const [key, node] of nodes) {
    const resolution = resolutions.get(node);
    if (resolution?.kind === "fault" && isTheirs(resolution.fault)) trouble ??= resolution.fault;
    told.set(key, targetOf(node.metadata.name, queries.get(node), resolution));
  }
  // Where of no node anything is known, a Service is not decided on at all.
  const isLost = trouble !== undefined && [...told.values()].every(({ kind }) => kind === "unknown");
  return (some) =>
    isLost && trouble !== undefined && some.length > 0
      ? { kind: "fault", fault: trouble }
      : ok(some.flatMap((node) => told.get(keyOf(node)) ?? []));
}

function queriedOf({ name, providerID }: TargetNode): Queried {
  return { metadata: { name }, spec: { providerID } };
}

function keyOf({ name, providerID = "" }: TargetNode): string {
  return `${name} ${providerID}`;
}

function targetOf(
  node: string,
  query: Query | undefined,
  resolution: Resolution<Droplet> | undefined,
): TargetDroplet {
  const id = query?.kind === "id" ? query.id : undefined;
  if (resolution === undefined) return { kind: "unknown", node, id };
  switch (resolution.kind) {
    case "machine":
      return dropletOf(node, resolution.machine);
    case "absent":
      return { kind: "absent", node };
    case "fault":
      return isTheirs(resolution.fault)
        ? { kind: "unknown", node, id }
        : { kind: "not-ours", node, message: `node ${node}: ${resolution.fault.message}` };
  }
}

function dropletOf(node: string, { id, networks }: Droplet): TargetDroplet {
  const { v4 = [], v6 = [] } = networks ?? {};
  return {
    kind: "droplet",
    node,
    id,
    hasPublicV4: v4.some(({ type, ip_address: ip }) => type === "public" && isIPv4(ip)),
    hasPublicV6: v6.some(({ type, ip_address: ip }) => type === "public" && isIPv6(ip)),
    hasPrivateV4: v4.some(({ type, ip_address: ip }) => type === "private" && isIPv4(ip)),
  };
}

/** Whether it is the API's trouble, and says nothing of the node. */
function isTheirs({ code }: Fault): boolean {
  return code === "Throttled" || code === "Unavailable" || code === "Aborted" || code === "Denied";
}
