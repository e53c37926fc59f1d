import { type Cidr, formatCidr, isWithin, parseCidr } from "#core/cidr.ts";
import type { RouteNode } from "#core/route/related-node.ts";
import type { RouteSettings } from "#core/settings.ts";

/** The pod networks that nodes report, in canonical form. */
export interface DesiredRoutes {
  /** The networks that need routes, by node name. */
  readonly byNode: ReadonlyMap<string, readonly string[]>;
  /** Names of nodes that report a network outside the cluster's, or an invalid one. */
  readonly outside: ReadonlySet<string>;
  /** The nodes that report a network, sorted by name; several nodes are a conflict. */
  readonly claims: ReadonlyMap<string, readonly string[]>;
}

/** Returns whether routes are configured for a cluster. */
export function isConfigured({ configure, clusterCIDRs }: RouteSettings): boolean {
  return configure && clusterCIDRs.length > 0;
}

/** Returns the configured networks of a cluster's pods. */
export function parseClusterNetworks({ clusterCIDRs }: RouteSettings): readonly Cidr[] {
  return clusterCIDRs.flatMap((text) => parseCidr(text) ?? []);
}

/**
 * Collects the networks that nodes report. A network outside the cluster's is never routed to a node: it may
 * have another owner, and a tenant writes nodes.
 */
export function collectDesiredRoutes(nodes: readonly RouteNode[], networks: readonly Cidr[]): DesiredRoutes {
  const byNode = new Map<string, readonly string[]>();
  const outside = new Set<string>();
  const claims = new Map<string, string[]>();
  for (const { name, podCIDRs = [] } of nodes) {
    const cidrs = podCIDRs.map((text) => parseCidr(text));
    const within = cidrs.flatMap((cidr) =>
      cidr !== undefined && networks.some((network) => isWithin(cidr, network)) ? formatCidr(cidr) : [],
    );
    if (within.length < podCIDRs.length) outside.add(name);
    const once = [...new Set(within)];
    byNode.set(name, once);
    for (const cidr of once) claims.set(cidr, [...(claims.get(cidr) ?? []), name]);
  }
  return { byNode, outside, claims };
}
