import * as z from "zod";
import type { RelatedObjects } from "#core/controller.ts";
import { SERVICES } from "#core/resources/resource.ts";
import {
  type ClassSettings,
  hasFinalizer,
  isLoadBalancerService,
  isMarked,
  isOurClass,
} from "#core/service/needs-work.ts";
import type { Service } from "#core/service/service.ts";
import { parseService } from "#core/service/snapshot.ts";
import { isGivenUp, parseStateAnnotation } from "#core/service/state-annotation.ts";
import type { Related } from "#core/watch.ts";

/** A Service that has a load balancer or requests one. */
const Claim = z.object({
  uid: z.string().min(1),
  created: z.string(),
  holds: z.boolean(),
  /** The load balancer class, which may belong to another controller. */
  class: z.string().optional(),
});
type Claim = z.output<typeof Claim>;

/**
 * All Services with a load balancer, read by Services that wait for their first one, because a cluster has a
 * maximum number. A Service that has one keeps it and does not read them. A Service that the cloud refused
 * reads them, and retries when another Service is gone.
 */
export const relatedServices: Related<Service> = {
  resource: SERVICES,
  project(object) {
    const parsed = parseService(object);
    if (parsed.kind === "malformed") return undefined;
    const service = parsed.object;
    const holds = hasReservation(service);
    if (!holds && !isLoadBalancerService(service)) return undefined;
    const { uid, creationTimestamp } = service.metadata;
    const { loadBalancerClass } = service.spec;
    const ofClass = loadBalancerClass === undefined ? {} : { class: loadBalancerClass };
    return { uid, created: creationTimestamp, holds, ...ofClass } satisfies Claim;
  },
  reads: (service) =>
    isLoadBalancerService(service) && (!hasReservation(service) || isRefused(service)) ? "all" : [],
};

function isRefused(service: Service): boolean {
  const annotation = parseStateAnnotation(service);
  return annotation !== undefined && isGivenUp(annotation);
}

/** Returns how many other Services have a load balancer; undefined when the event came without them. */
export function countHolders({ metadata: { uid } }: Service, related: RelatedObjects): number | undefined {
  const list = related[SERVICES.name];
  if (list === undefined) return undefined;
  return parseClaims(list.items).filter((claim) => claim.holds && claim.uid !== uid).length;
}

/**
 * Returns whether a Service may create its first load balancer: holders come first, then older Services, up
 * to `max`. Undefined when the event came without the other Services.
 */
export function isNextForCreation(
  service: Service,
  related: RelatedObjects,
  max: number,
  settings: ClassSettings = {},
): boolean | undefined {
  if (hasReservation(service)) return true;
  const list = related[SERVICES.name];
  if (list === undefined) return undefined;
  const { uid, creationTimestamp } = service.metadata;
  const candidate = { uid, created: creationTimestamp, holds: false };
  const isOurs = (claim: Claim): boolean => claim.holds || isOurClass(claim.class, settings);
  const earlierClaims = parseClaims(list.items).filter(
    (claim) => claim.uid !== uid && isOurs(claim) && isBefore(claim, candidate),
  );
  return earlierClaims.length < max;
}

/** A load balancer may already exist for it. */
function hasReservation(service: Service): boolean {
  return hasFinalizer(service) && isMarked(service);
}

function isBefore(claim: Claim, candidate: Claim): boolean {
  if (claim.holds) return true;
  return claim.created === candidate.created ? claim.uid < candidate.uid : claim.created < candidate.created;
}

const claimsByList = new WeakMap<readonly unknown[], readonly Claim[]>();

/** Cached by list, because all Services of an event share one. */
function parseClaims(items: readonly unknown[]): readonly Claim[] {
  const cached = claimsByList.get(items);
  if (cached !== undefined) return cached;
  const claims = items.flatMap((item) => Claim.safeParse(item).data ?? []);
  claimsByList.set(items, claims);
  return claims;
}
