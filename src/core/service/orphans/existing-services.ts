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

/**
 * An existing Service of any type, in any state. `isPlain` and `isBare` are two degrees of having no load balancer: by
 * its type, and also by what an earlier load balancer would have left on it.
 */
export const ExistingService = z.object({
  /** `namespace/name`. */
  key: z.string().min(1),
  /** Without dashes. */
  uid: z.string(),
  /** The load balancer that its annotation names, which may have been created for another Service. */
  loadBalancerID: z.string().optional(),
  /** Whether its type is not LoadBalancer. */
  isPlain: z.literal(true).optional(),
  /**
   * Whether its type is not LoadBalancer, and it has neither the finalizer nor our annotation from an earlier load
   * balancer.
   */
  isBare: z.literal(true).optional(),
});
export type ExistingService = z.output<typeof ExistingService>;

/**
 * The maximum length of an ID with surrounding blanks: DigitalOcean's have 36 characters. A longer value names no load
 * balancer.
 */
const MAX_ID_LENGTH = 64;

const Named = z.object({
  metadata: z.object({
    namespace: z.string(),
    name: z.string(),
    uid: z.string(),
    annotations: z
      .looseObject({ [LOAD_BALANCER_ID_ANNOTATION]: z.string().max(MAX_ID_LENGTH) })
      .optional()
      .catch(undefined),
  }),
  spec: z.object({ type: z.string().optional() }).optional().catch(undefined),
});

/** All Services: an orphan is proven only against the complete list. */
export const existingServices: Related = {
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
    } satisfies ExistingService;
  },
  reads: () => "all",
};

/**
 * Returns the Services of an event, without those that cannot be read. Undefined when the event came without them,
 * which says nothing about their number.
 */
export function selectExistingServices(related: RelatedObjects): readonly ExistingService[] | undefined {
  return related[SERVICES.name]?.items.flatMap((item) => ExistingService.safeParse(item).data ?? []);
}

/** Returns whether a Service may hold or request a load balancer of any class, judged by its own content. */
export function mayHoldLoadBalancer({ isBare }: ExistingService): boolean {
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

/** The code of an audit whose event does not contain all Services. */
export const SERVICES_INCOMPLETE = "ServicesIncomplete";

/**
 * Returns why the event may lack existing Services; undefined if it contains all. A Service missing from a list is not
 * proven to be gone. Invalid and duplicate Services are not counted.
 */
export function findServiceListGap({
  related,
  count,
}: Pick<DecisionContext, "related" | "count">): Reason | undefined {
  const known = new Set(selectExistingServices(related)?.map(({ uid }) => uid)).size;
  if (count?.kind === "count" && count.count === known && related[SERVICES.name] !== undefined)
    return undefined;
  const message =
    count?.kind === "count"
      ? `the API server counts ${count.count} Services, and the event has ${known}`
      : `the Services cannot be counted: ${count?.message}`;
  return { code: SERVICES_INCOMPLETE, message };
}

/** Seconds until an audit without a complete list of Services is repeated. */
export const INCOMPLETE_SECONDS = 60;
