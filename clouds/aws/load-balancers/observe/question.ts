import * as z from "zod";
import { annotationName } from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import { ANNOTATIONS } from "#clouds/aws/load-balancers/annotations/table.ts";
import { loadBalancerNameOf } from "#clouds/aws/load-balancers/load-balancer-name.ts";
import { targetGroupPrefix } from "#clouds/aws/load-balancers/names.ts";
import { parseProviderID } from "#clouds/aws/provider-id.ts";
import { LOAD_BALANCER_ANNOTATION } from "#core/contracts.ts";

/** What of a `LoadBalancerQuestion` decides what is looked at. */
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

/** What is looked for, for one Service. */
export interface Sought {
  /** `namespace/name`. */
  readonly service: string;
  readonly wanted: boolean;
  /** Of its load balancer, of either kind. */
  readonly name: string;
  /** How the names of its target groups begin. */
  readonly targetGroupPrefix: string;
  /** Of its targets; none where nothing is wanted. */
  readonly instanceIds: readonly string[];
  /** Of the Elastic IP addresses that its annotation names; none where nothing is wanted. */
  readonly allocationIds: readonly string[];
  readonly depth: Depth;
  /** It is to have a load balancer, and our annotation does not say that anybody has begun with it. */
  readonly isNew: boolean;
}

/** How closely it is looked at: at all there is, at the targets alone, or at no more than what is to go. */
export type Depth = "all" | "targets" | "names";

/** Reads a question; undefined where a Service has a uid of which no load balancer can be called. */
export function soughtBy(question: unknown): Sought | undefined {
  const { service, wanted, nodes, onlyTargets = false, orphaned = false } = Question.parse(question);
  const { namespace, name, uid, annotations = {} } = service.metadata;
  const loadBalancer = loadBalancerNameOf(uid);
  if (loadBalancer === undefined) return undefined;
  return {
    service: `${namespace}/${name}`,
    wanted,
    name: loadBalancer,
    targetGroupPrefix: targetGroupPrefix(namespace, name),
    instanceIds: wanted ? nodes.flatMap(({ providerID }) => instanceIdOf(providerID)) : [],
    allocationIds: wanted ? allocationIdsIn(annotations) : [],
    isNew: wanted && annotations[LOAD_BALANCER_ANNOTATION] === undefined,
    // Of what nobody asked to go it is looked at first whether it is protected.
    depth: orphaned || (wanted && !onlyTargets) ? "all" : wanted ? "targets" : "names",
  };
}

/** Faults of the annotation are told where it is decided on. */
function allocationIdsIn(annotations: Readonly<Record<string, string>>): readonly string[] {
  const read = ANNOTATIONS["eip-allocations"].network(annotations[annotationName("eip-allocations")] ?? "");
  return read.ok ? (read.value ?? []) : [];
}

function instanceIdOf(providerID: string | undefined): string[] {
  if (!providerID) return [];
  const parsed = parseProviderID(providerID);
  return parsed.kind === "instance" ? [parsed.id] : [];
}
