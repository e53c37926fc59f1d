import * as z from "zod";
import {
  LOAD_BALANCER_ANNOTATION,
  LOAD_BALANCER_FINALIZER,
  LOAD_BALANCER_ID_ANNOTATION,
} from "#core/contracts.ts";
import type { DecisionContext, RelatedObjects } from "#core/controller.ts";
import type { Reason } from "#core/reason.ts";
import { formatObjectKey, SERVICES } from "#core/resources/resource.ts";
import type { Related } from "#core/watch.ts";

/** An existing Service of any type, in any state. */
export const LivingService = z.object({
  /** `namespace/name`. */
  key: z.string().min(1),
  /** Without dashes. */
  uid: z.string(),
  /** The load balancer that its annotation names, which may have been created for another Service. */
  loadBalancerID: z.string().optional(),
  /** Its type is not LoadBalancer. */
  isPlain: z.literal(true).optional(),
  /**
   * Its type is not LoadBalancer, and it has neither the finalizer nor our annotation from an earlier load
   * balancer.
   */
  isBare: z.literal(true).optional(),
});
export type LivingService = z.output<typeof LivingService>;

/** Longer than any ID with surrounding blanks. */
const MAX_ID = 64;

const Named = z.object({
  metadata: z.object({
    namespace: z.string(),
    name: z.string(),
    uid: z.string(),
    annotations: z
      .looseObject({ [LOAD_BALANCER_ID_ANNOTATION]: z.string().max(MAX_ID) })
      .optional()
      .catch(undefined),
  }),
  spec: z.object({ type: z.string().optional() }).optional().catch(undefined),
});

/** All Services, because the load balancer of an existing one must never count as an orphan. */
export const livingServices: Related = {
  resource: SERVICES,
  project(object) {
    const named = Named.safeParse(object).data;
    if (named === undefined) return undefined;
    const { metadata, spec } = named;
    const loadBalancerID = metadata.annotations?.[LOAD_BALANCER_ID_ANNOTATION].trim() ?? "";
    const isPlain = spec?.type !== undefined && spec.type !== "LoadBalancer";
    return {
      ...{ key: formatObjectKey(metadata), uid: normalizeUid(metadata.uid) },
      ...(loadBalancerID === "" ? {} : { loadBalancerID }),
      ...(isPlain ? { isPlain } : {}),
      ...(isPlain && isBare(object) ? { isBare: true as const } : {}),
    } satisfies LivingService;
  },
  reads: () => "all",
};

/**
 * Returns the Services of an event. Undefined when the event came without them, which says nothing about
 * their number.
 */
export function selectLivingServices(related: RelatedObjects): readonly LivingService[] | undefined {
  return related[SERVICES.name]?.items.flatMap((item) => LivingService.safeParse(item).data ?? []);
}

/** Returns whether a Service holds or requests a load balancer, judged by its own content. */
export function isHolder({ isBare }: LivingService): boolean {
  return isBare !== true;
}

const MarkedService = z.object({
  metadata: z.object({
    finalizers: z.array(z.unknown()).optional(),
    annotations: z.record(z.string(), z.unknown()).optional(),
  }),
});

/** An unreadable object does not prove absence. */
function isBare(object: unknown): boolean {
  const { data } = MarkedService.safeParse(object);
  if (data === undefined) return false;
  const { finalizers = [], annotations = {} } = data.metadata;
  return (
    !finalizers.includes(LOAD_BALANCER_FINALIZER) && !Object.hasOwn(annotations, LOAD_BALANCER_ANNOTATION)
  );
}

/** The form of a uid in cloud names. */
function normalizeUid(uid: string): string {
  return uid.replaceAll("-", "");
}

/**
 * Returns whether the event contains all existing Services: a Service missing from a list is not proven to be
 * gone. Invalid and duplicate Services are not counted.
 */
export function isServiceListComplete({
  related,
  count,
}: Pick<DecisionContext, "related" | "count">): boolean {
  const services = selectLivingServices(related);
  if (services === undefined || count?.kind !== "count") return false;
  return count.count === new Set(services.map(({ uid }) => uid)).size;
}

export const INCOMPLETE: Reason = {
  code: "ServicesIncomplete",
  message:
    "the API server has another number of Services than are known: nothing counts as orphaned before they agree",
};

/** Seconds until an audit without a complete list of Services is repeated. */
export const INCOMPLETE_SECONDS = 60;
