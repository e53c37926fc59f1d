import * as z from "zod";
import { LOAD_BALANCER_ANNOTATION, LOAD_BALANCER_FINALIZER } from "#core/contracts.ts";
import type { Related, RelatedObjects } from "#core/controller.ts";
import { ANNOTATIONS } from "#core/firewall/exposed-service.ts";
import { keyOfName, SERVICES } from "#core/resources/resource.ts";

/** A Service that there is, of whatever type and in whatever state. */
export const LivingService = z.object({
  /** `namespace/name`. */
  key: z.string().min(1),
  /** Without dashes. */
  uid: z.string(),
  /** Which load balancer it names as its own, whoever that was made for. */
  loadBalancerID: z.string().optional(),
  /** It is of another type than LoadBalancer. */
  isPlain: z.literal(true).optional(),
  /** And nothing on it says that it has had a load balancer: neither the finalizer nor our annotation. */
  isBare: z.literal(true).optional(),
});
export type LivingService = z.output<typeof LivingService>;

/** As long as any id, with blanks around it. */
const MAX_ID = 64;

const Named = z.object({
  metadata: z.object({
    namespace: z.string(),
    name: z.string(),
    uid: z.string(),
    annotations: z
      .looseObject({ [ANNOTATIONS.loadBalancerID]: z.string().max(MAX_ID) })
      .optional()
      .catch(undefined),
  }),
  spec: z.object({ type: z.string().optional() }).optional().catch(undefined),
});

/** All Services, as none of them may have its load balancer taken for an orphan. */
export const livingServices: Related = {
  resource: SERVICES,
  project(object) {
    const named = Named.safeParse(object).data;
    if (named === undefined) return undefined;
    const { metadata, spec } = named;
    const loadBalancerID = metadata.annotations?.[ANNOTATIONS.loadBalancerID].trim() ?? "";
    const isPlain = spec?.type !== undefined && spec.type !== "LoadBalancer";
    return {
      ...{ key: keyOfName(metadata), uid: plainUid(metadata.uid) },
      ...(loadBalancerID === "" ? {} : { loadBalancerID }),
      ...(isPlain ? { isPlain } : {}),
      ...(isPlain && isBare(object) ? { isBare: true as const } : {}),
    } satisfies LivingService;
  },
  reads: () => "all",
};

/** The Services of an event; undefined where it came without them, which says nothing of how many there are. */
export function livingIn(related: RelatedObjects): readonly LivingService[] | undefined {
  return related[SERVICES.name]?.items.flatMap((item) => LivingService.safeParse(item).data ?? []);
}

/** Whether a Service holds a load balancer, or is to have one, as far as what is written on it tells. */
export function isHolder({ isBare }: LivingService): boolean {
  return isBare !== true;
}

const Marked = z.object({
  metadata: z.object({
    finalizers: z.array(z.unknown()).optional(),
    annotations: z.record(z.string(), z.unknown()).optional(),
  }),
});

/** What cannot be read is no proof that nothing is there. */
function isBare(object: unknown): boolean {
  const { data } = Marked.safeParse(object);
  if (data === undefined) return false;
  const { finalizers = [], annotations = {} } = data.metadata;
  return (
    !finalizers.includes(LOAD_BALANCER_FINALIZER) && !Object.hasOwn(annotations, LOAD_BALANCER_ANNOTATION)
  );
}

/** A uid as names of the cloud have it. */
function plainUid(uid: string): string {
  return uid.replaceAll("-", "");
}
