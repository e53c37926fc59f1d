import * as z from "zod";
import type { Related, RelatedObjects } from "#core/controller.ts";
import { NODES } from "#core/resources/resource.ts";

/** The condition that says whether pods of a node can be reached from other nodes. */
export const NETWORK_UNAVAILABLE = "NetworkUnavailable";

/** Kubernetes allows one of each family. */
const MAX_POD_CIDRS = 2;

const text = z.string().optional().catch(undefined);

/** A node as its own API server has it; whatever is odd about it is as if it were not there, but the node is. */
const RawNode = z.object({
  metadata: z.object({ name: z.string(), uid: z.string(), deletionTimestamp: text }),
  spec: z
    .object({
      providerID: text,
      podCIDRs: z.array(z.string()).optional().catch(undefined),
    })
    .prefault({})
    .catch({}),
  status: z
    .object({
      conditions: z
        .array(z.object({ type: z.string(), status: text, reason: text }))
        .nullish()
        .catch(undefined),
    })
    .prefault({})
    .catch({}),
});

/** Of a node, what its routes and its condition depend on, and where among the conditions that one is. */
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
  /** The type of the last condition; null where the list of them is empty, undefined where there is no list. */
  lastCondition: z.string().nullable().optional(),
});
export type RouteNode = z.output<typeof RouteNode>;

/** A cluster reads all nodes. Heartbeats are no part of what it reads, or each would wake it. */
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

/** The nodes of an event, by name; undefined where there is no list of them. */
export function nodesIn(related: RelatedObjects): readonly RouteNode[] | undefined {
  const list = related[NODES.name];
  return list && parseNodes(list.items);
}

/** Projected nodes, by name. */
export function parseNodes(items: readonly unknown[]): readonly RouteNode[] {
  return items
    .flatMap((item) => RouteNode.safeParse(item).data ?? [])
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}
