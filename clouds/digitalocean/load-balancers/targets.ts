import { isIPv4, isIPv6 } from "node:net";
import type { Droplet } from "#clouds/digitalocean/droplet.ts";
import type { ObserveContext } from "#clouds/digitalocean/load-balancers/observe-context.ts";
import type { TargetDroplet } from "#clouds/digitalocean/load-balancers/state.ts";
import { parseProviderID } from "#clouds/digitalocean/provider-id.ts";
import type { Fault, Outcome } from "#clouds/http/outcome.ts";
import { buildQuery, type Queried, type Query } from "#clouds/listed/query.ts";
import { type Resolution, resolve } from "#clouds/listed/resolve.ts";
import { ok } from "#clouds/outcome.ts";
import type { LoadBalancerQuestion, TargetNode } from "#core/service/model.ts";

/** Returns the droplets of nodes; a fault if the API as a whole is unavailable. */
export type Targets = (nodes: readonly TargetNode[]) => Outcome<readonly TargetDroplet[]>;

/**
 * Finds the droplets of all target nodes of a batch of Services, as the node controller does: from one list,
 * and only droplets of the cluster. A tenant controls what a node says about itself.
 */
export async function observeTargets(
  questions: readonly LoadBalancerQuestion[],
  { sources, callContext }: ObserveContext,
): Promise<Targets> {
  const nodes = new Map<string, Queried>();
  for (const { nodes: serviceNodes, wanted: isWanted } of questions)
    if (isWanted) for (const node of serviceNodes) nodes.set(formatTargetKey(node), toQueried(node));
  if (nodes.size === 0) return () => ok([]);
  const queries = new Map([...nodes.values()].map((node) => [node, buildQuery(node, parseProviderID)]));
  const resolutions = await resolve(queries, sources, callContext);
  const targets = new Map<string, TargetDroplet>();
  let failure: Fault | undefined;
  for (const [key, node] of nodes) {
    const resolution = resolutions.get(node);
    if (resolution?.kind === "fault" && isApiError(resolution.fault)) failure ??= resolution.fault;
    targets.set(key, buildTarget(node.metadata.name, queries.get(node), resolution));
  }
  // If no node is known, the Service is not decided on.
  const isUnavailable =
    failure !== undefined && [...targets.values()].every(({ kind }) => kind === "unknown");
  return (serviceNodes) =>
    isUnavailable && failure !== undefined && serviceNodes.length > 0
      ? { kind: "fault", fault: failure }
      : ok(serviceNodes.flatMap((node) => targets.get(formatTargetKey(node)) ?? []));
}

function toQueried({ name, providerID }: TargetNode): Queried {
  return { metadata: { name }, spec: { providerID } };
}

function formatTargetKey({ name, providerID = "" }: TargetNode): string {
  return `${name} ${providerID}`;
}

function buildTarget(
  node: string,
  query: Query | undefined,
  resolution: Resolution<Droplet> | undefined,
): TargetDroplet {
  const id = query?.kind === "id" ? query.id : undefined;
  if (resolution === undefined) return { kind: "unknown", node, id };
  switch (resolution.kind) {
    case "machine":
      return buildDropletTarget(node, resolution.machine);
    case "absent":
      return { kind: "absent", node };
    case "fault":
      return isApiError(resolution.fault)
        ? { kind: "unknown", node, id }
        : { kind: "not-ours", node, message: `node ${node}: ${resolution.fault.message}` };
  }
}

function buildDropletTarget(node: string, { id, networks }: Droplet): TargetDroplet {
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

/** Whether the API is the cause, not the node. */
function isApiError({ code }: Fault): boolean {
  return code === "Throttled" || code === "Unavailable" || code === "Aborted" || code === "Denied";
}
