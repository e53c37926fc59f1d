import { LOAD_BALANCER_ANNOTATION, LOAD_BALANCER_CLASS, LOAD_BALANCER_FINALIZER } from "#core/contracts.ts";
import { formatCanonicalJson, hashText } from "#core/hash.ts";
import type { Ingress, Service } from "#core/service/service.ts";
import { projectService } from "#core/service/snapshot.ts";
import { hasAppliedTargets, parseStateAnnotation } from "#core/service/state-annotation.ts";
import type { Settings } from "#core/settings.ts";

/** The settings of a cluster that decide which controller owns a Service. */
export type ClassSettings = Pick<Settings, "loadBalancerClass">;

/**
 * Returns whether a Service needs a load balancer from this controller; without settings, no load balancer
 * class is configured.
 */
export function needsLoadBalancer(service: Service, settings: ClassSettings = {}): boolean {
  return isLoadBalancerService(service) && isOurClass(service.spec.loadBalancerClass, settings);
}

/** Returns whether a Service needs a load balancer from any controller. */
export function isLoadBalancerService({ metadata, spec }: Service): boolean {
  return spec.type === LOAD_BALANCER && metadata.deletionTimestamp === undefined;
}

/**
 * Returns whether a Service that needs no load balancer may still have one of ours. As in the stock
 * controller, the finalizer of a Service that is being deleted or has another type is a reason to ask the
 * cloud. The annotation does not suffice: it is a cache, and replacing the Service drops it. On a living
 * Service of another class the finalizer is that controller's; only our annotation makes it ours.
 */
export function needsCleanup(service: Service, settings: ClassSettings = {}): boolean {
  if (needsLoadBalancer(service, settings) || !hasFinalizer(service)) return false;
  return !isLoadBalancerService(service) || isMarked(service);
}

/** Returns whether a Service is alive and of another type than LoadBalancer. */
export function hasLostType(service: Service): boolean {
  return !hasLoadBalancerType(service) && service.metadata.deletionTimestamp === undefined;
}

/** Returns whether a Service is of type LoadBalancer, of any class. */
export function hasLoadBalancerType({ spec }: Service): boolean {
  return spec.type === LOAD_BALANCER;
}

/**
 * Returns whether a Service in its current state needs work; `settings` are the cluster's. Informers call it.
 */
export function needsWork(service: Service, settings: Settings): boolean {
  if (!needsLoadBalancer(service, settings)) return needsCleanup(service, settings);
  const annotation = parseStateAnnotation(service);
  return (
    !hasFinalizer(service) ||
    annotation?.state !== "applied" ||
    annotation.making !== undefined ||
    !hasAppliedTargets(annotation) ||
    annotation.ingress !== hashIngress(getIngress(service)) ||
    annotation.seen !== hashObservedService(service, settings)
  );
}

/** Returns whether the state annotation of this Service, matched by uid, claims its load balancer. */
export function isMarked(service: Service): boolean {
  return parseStateAnnotation(service) !== undefined;
}

/** Returns whether the Service has the load balancer finalizer, from any controller. */
export function hasFinalizer({ metadata: { finalizers } }: Service): boolean {
  return finalizers?.includes(LOAD_BALANCER_FINALIZER) === true;
}

/** Returns the addresses in the status. */
export function getIngress({ status }: Service): readonly Ingress[] {
  return status?.loadBalancer?.ingress ?? [];
}

/** Returns a hash of the addresses in a status. */
export function hashIngress(ingress: readonly Ingress[]): string {
  return hashText(formatCanonicalJson(ingress));
}

/**
 * Returns a hash of everything in a Service and in its cluster's configuration that its load balancer may
 * depend on.
 */
export function hashObservedService(service: Service, { cluster, cloud }: Settings): string {
  const { metadata, spec } = projectService(service);
  const { [LOAD_BALANCER_ANNOTATION]: _, ...annotations } = metadata.annotations ?? {};
  return hashText(formatCanonicalJson({ annotations, spec, cluster, cloud }));
}

/**
 * Returns a hash of what the owner writes on a Service, and of our annotation. It guards actions of the
 * cloud. Finalizers and status are not included.
 */
export function hashContent(service: Service): string {
  const { metadata, spec } = projectService(service);
  const { uid, annotations, labels } = metadata;
  return hashText(formatCanonicalJson({ uid, annotations, labels, spec }));
}

const LOAD_BALANCER = "LoadBalancer";

/** Returns whether a Service is of type LoadBalancer and of a class that this controller manages. */
export function isOfOurClass({ spec }: Service, settings: ClassSettings = {}): boolean {
  return spec.type === LOAD_BALANCER && isOurClass(spec.loadBalancerClass, settings);
}

/**
 * Returns whether this controller manages a load balancer class. As in the stock controller, any class that
 * is set, even an empty one, belongs to another controller; ours is one more. A configured
 * `loadBalancerClass` may also be the only one.
 */
export function isOurClass(ofService: string | undefined, { loadBalancerClass }: ClassSettings): boolean {
  if (loadBalancerClass !== undefined) return ofService === loadBalancerClass;
  return ofService === undefined || ofService === LOAD_BALANCER_CLASS;
}
