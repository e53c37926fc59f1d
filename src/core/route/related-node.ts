import * as z from "zod";
import { type Cidr, formatCidr, isWithin, parseCidr } from "#core/cidr.ts";
import type { RelatedObjects } from "#core/controller.ts";
import { NODES } from "#core/resources/resource.ts";
import type { RouteSettings } from "#core/route/settings.ts";
import type { Related } from "#core/watch.ts";

/** The condition that reports whether pods of a node are reachable from other nodes. */
export const NETWORK_UNAVAILABLE = "NetworkUnavailable";

/** Kubernetes allows one per family. */
const MAX_POD_CIDRS = 2;

const OptionalText = z.string().optional().catch(undefined);

/** A node from its own API server; invalid fields count as absent, but the node remains. */
const RawNode = z.object({
  metadata: z.object({ name: z.string(), uid: z.string(), deletionTimestamp: OptionalText }),
  spec: z
    .object({
      providerID: OptionalText,
      podCIDRs: z.array(z.string()).optional().catch(undefined),
    })
    .prefault({})
    .catch({}),
  status: z
    .object({
      conditions: z
        .array(z.object({ type: z.string(), status: OptionalText, reason: OptionalText }))
        .nullish()
        .catch(undefined),
    })
    .prefault({})
    .catch({}),
});

/** The fields of a node on which its routes and its condition depend, and the condition's index. */
export const RouteNode = z.object({
  name: z.string(),
  uid: z.string(),
  deleting: z.literal(true).optional(),
  providerID: z.string().optional(),
  podCIDRs: z.array(z.string()).optional(),
  /** `at` is its index. */
  condition: z
    .object({ at: z.int().min(0), status: z.string().optional(), reason: z.string().optional() })
    .optional(),
  /** The type of the last condition; null for an empty list, undefined without a list. */
  lastCondition: z.string().nullable().optional(),
});
export type RouteNode = z.output<typeof RouteNode>;

/** All nodes of a cluster. Heartbeats are not included, because each would wake the controller. */
export const routeNodes: Related = {
  resource: NODES,
  project(object) {
    const parsed = RawNode.safeParse(object);
    if (!parsed.success) return undefined;
    const { metadata, spec, status } = parsed.data;
    const conditions = status.conditions ?? [];
    const at = conditions.findIndex(({ type }) => type === NETWORK_UNAVAILABLE);
    const last = conditions.at(-1)?.type;
    const { status: said, reason } = conditions[at] ?? {};
    return {
      name: metadata.name,
      uid: metadata.uid,
      ...(metadata.deletionTimestamp === undefined ? {} : { deleting: true }),
      ...(spec.providerID === undefined ? {} : { providerID: spec.providerID }),
      ...(spec.podCIDRs === undefined ? {} : { podCIDRs: spec.podCIDRs.slice(0, MAX_POD_CIDRS) }),
      ...(at < 0 ? {} : { condition: { at, status: said, reason } }),
      ...(last === undefined ? {} : { lastCondition: last }),
      ...(status.conditions?.length === 0 ? { lastCondition: null } : {}),
    } satisfies RouteNode;
  },
  reads: () => "all",
};

/** Returns the nodes of an event, by name; undefined without a list. */
export function selectRouteNodes(related: RelatedObjects): readonly RouteNode[] | undefined {
  const list = related[NODES.name];
  return list && parseNodes(list.items);
}

/** Returns projected nodes, by name. */
export function parseNodes(items: readonly unknown[]): readonly RouteNode[] {
  return items
    .flatMap((item) => RouteNode.safeParse(item).data ?? [])
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

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
