import { type Cidr, formatCidr, isWithin, parseCidr } from "#core/cidr.ts";
import type { RouteNode } from "#core/route/related-node.ts";
import type { RouteSettings } from "#core/settings.ts";

/** What nodes say of the networks of their pods, in canonical form. */
export interface Wanted {
  /** By name of the node: what it is to have routes for. */
  readonly byNode: ReadonlyMap<string, readonly string[]>;
  /** Names of nodes that say a network which is no part of the cluster's, or no network. */
  readonly outside: ReadonlySet<string>;
  /** By network: the nodes that say it, by name and in the order of names; more than one are at odds. */
  readonly claims: ReadonlyMap<string, readonly string[]>;
}

/** Whether routes are made for a cluster at all. */
export function isConfigured({ configure, clusterCIDRs }: RouteSettings): boolean {
  return configure && clusterCIDRs.length > 0;
}

/** The networks of a cluster's pods, as configured. */
export function clusterNetworks({ clusterCIDRs }: RouteSettings): readonly Cidr[] {
  return clusterCIDRs.flatMap((text) => parseCidr(text) ?? []);
}

/** Reads what nodes say. A network beyond the cluster's is never routed to a node: it may be anybody's, and a node is the tenant's word. */
export function wantedRoutes(nodes: readonly RouteNode[], networks: readonly Cidr[]): Wanted {
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
