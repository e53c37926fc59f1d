import * as z from "zod";
import type { Related, RelatedObjects } from "#core/controller.ts";
import { SERVICES } from "#core/resources/resource.ts";
import { isGivenUp, markOf } from "#core/service/mark.ts";
import {
  asksForLoadBalancer,
  type ClassSettings,
  hasFinalizer,
  isMarked,
  isOurClass,
} from "#core/service/needs-work.ts";
import type { Service } from "#core/service/service.ts";
import { parseService } from "#core/service/snapshot.ts";

/** A Service with a load balancer, or that is to have one. */
const Claim = z.object({
  uid: z.string().min(1),
  created: z.string(),
  holds: z.boolean(),
  /** Its class, by which it may be another controller's. */
  class: z.string().optional(),
});
type Claim = z.output<typeof Claim>;

/**
 * All Services with a load balancer, which those that wait for their first one read: a cluster has so many and no more. Whoever has
 * one is not asked to give it up, and does not read them. A Service that the cloud has refused reads them: where another one goes, it is
 * tried again.
 */
export const relatedServices: Related<Service> = {
  resource: SERVICES,
  project(object) {
    const parsed = parseService(object);
    if (parsed.kind === "malformed") return undefined;
    const service = parsed.object;
    const holds = holdsPlace(service);
    if (!holds && !asksForLoadBalancer(service)) return undefined;
    const { uid, creationTimestamp } = service.metadata;
    const { loadBalancerClass } = service.spec;
    const ofClass = loadBalancerClass === undefined ? {} : { class: loadBalancerClass };
    return { uid, created: creationTimestamp, holds, ...ofClass } satisfies Claim;
  },
  reads: (service) =>
    asksForLoadBalancer(service) && (!holdsPlace(service) || isRefused(service)) ? "all" : [],
};

function isRefused(service: Service): boolean {
  const mark = markOf(service);
  return mark !== undefined && isGivenUp(mark);
}

/** Returns how many other Services have a load balancer; undefined where the event came without them. */
export function countHolders({ metadata: { uid } }: Service, related: RelatedObjects): number | undefined {
  const list = related[SERVICES.name];
  if (list === undefined) return undefined;
  return claimsOf(list.items).filter((claim) => claim.holds && claim.uid !== uid).length;
}

/**
 * Whether it is a Service's turn to get its first load balancer: those that hold one come first, then the older ones, and `max` of
 * them in all. Undefined where the event came without the others.
 */
export function hasTurn(
  service: Service,
  related: RelatedObjects,
  max: number,
  settings: ClassSettings = {},
): boolean | undefined {
  if (holdsPlace(service)) return true;
  const list = related[SERVICES.name];
  if (list === undefined) return undefined;
  const { uid, creationTimestamp } = service.metadata;
  const own = { uid, created: creationTimestamp, holds: false };
  const isOurs = (claim: Claim): boolean => claim.holds || isOurClass(claim.class, settings);
  const before = claimsOf(list.items).filter(
    (claim) => claim.uid !== uid && isOurs(claim) && isBefore(claim, own),
  );
  return before.length < max;
}

/** Whether a load balancer may have been made for it already. */
function holdsPlace(service: Service): boolean {
  return hasFinalizer(service) && isMarked(service);
}

function isBefore(claim: Claim, own: Claim): boolean {
  if (claim.holds) return true;
  return claim.created === own.created ? claim.uid < own.uid : claim.created < own.created;
}

const known = new WeakMap<readonly unknown[], readonly Claim[]>();

/** All Services of an event share one list. */
function claimsOf(items: readonly unknown[]): readonly Claim[] {
  const before = known.get(items);
  if (before !== undefined) return before;
  const claims = items.flatMap((item) => Claim.safeParse(item).data ?? []);
  known.set(items, claims);
  return claims;
}
