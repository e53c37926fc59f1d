import * as z from "zod";
import { formatAnnotationName } from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import { ANNOTATIONS } from "#clouds/aws/load-balancers/annotations/table.ts";
import { formatLoadBalancerName, formatTargetGroupPrefix } from "#clouds/aws/load-balancers/names.ts";
import { parseProviderID } from "#clouds/aws/provider-id.ts";
import { LOAD_BALANCER_ANNOTATION } from "#core/contracts.ts";

/** The part of a `LoadBalancerQuestion` that decides what is read. */
const Question = z.object({
  service: z.object({
    metadata: z.object({
      namespace: z.string(),
      name: z.string(),
      uid: z.string(),
      annotations: z.record(z.string(), z.string()).optional(),
    }),
  }),
  wanted: z.boolean(),
  nodes: z.array(z.object({ providerID: z.string().optional() })),
  onlyTargets: z.literal(true).optional(),
  orphaned: z.literal(true).optional(),
});

/** The query for one Service. */
export interface ServiceQuery {
  /** `namespace/name`. */
  readonly service: string;
  readonly wanted: boolean;
  /** The name of its load balancer, of either type. */
  readonly name: string;
  /** The prefix of its target groups' names. */
  readonly targetGroupPrefix: string;
  /** Instance ids of its targets; empty if no load balancer is desired. */
  readonly instanceIds: readonly string[];
  /** Allocation ids in its annotation; empty if no load balancer is desired. */
  readonly allocationIds: readonly string[];
  readonly depth: Depth;
  /** A load balancer is desired, and our annotation records no attempt yet. */
  readonly isNew: boolean;
}

/** How much is read: everything, only the targets, or only what a removal needs. */
export type Depth = "all" | "targets" | "names";

/** Parses a question; undefined if the Service's uid gives no valid load balancer name. */
export function parseServiceQuery(question: unknown): ServiceQuery | undefined {
  const { service, wanted, nodes, onlyTargets = false, orphaned = false } = Question.parse(question);
  const { namespace, name, uid, annotations = {} } = service.metadata;
  const loadBalancer = formatLoadBalancerName(uid);
  if (loadBalancer === undefined) return undefined;
  return {
    service: `${namespace}/${name}`,
    wanted,
    name: loadBalancer,
    targetGroupPrefix: formatTargetGroupPrefix(namespace, name),
    instanceIds: wanted ? nodes.flatMap(({ providerID }) => listInstanceId(providerID)) : [],
    allocationIds: wanted ? parseAllocationIds(annotations) : [],
    isNew: wanted && annotations[LOAD_BALANCER_ANNOTATION] === undefined,
    // A removal that its Service did not request first checks for deletion protection.
    depth: orphaned || (wanted && !onlyTargets) ? "all" : wanted ? "targets" : "names",
  };
}

/** Invalid annotations are reported by the decision. */
function parseAllocationIds(annotations: Readonly<Record<string, string>>): readonly string[] {
  const read = ANNOTATIONS["eip-allocations"].network(
    annotations[formatAnnotationName("eip-allocations")] ?? "",
  );
  return read.ok ? (read.value ?? []) : [];
}

function listInstanceId(providerID: string | undefined): string[] {
  if (!providerID) return [];
  const parsed = parseProviderID(providerID);
  return parsed.kind === "instance" ? [parsed.id] : [];
}
