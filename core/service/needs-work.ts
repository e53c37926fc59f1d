import { LOAD_BALANCER_ANNOTATION, LOAD_BALANCER_CLASS, LOAD_BALANCER_FINALIZER } from "#core/contracts.ts";
import { canonicalJson, hashOf } from "#core/hash.ts";
import { hasAppliedTargets, markOf } from "#core/service/mark.ts";
import type { Ingress, Service } from "#core/service/service.ts";
import { snapshotOf } from "#core/service/snapshot.ts";
import type { Settings } from "#core/settings.ts";

/** What of a cluster's settings says whose a Service is. */
export type ClassSettings = Pick<Settings, "loadBalancerClass">;

/** Whether a Service is to have a load balancer of ours; without settings, as if no class were named. */
export function wantsLoadBalancer(service: Service, settings: ClassSettings = {}): boolean {
  return asksForLoadBalancer(service) && isOurClass(service.spec.loadBalancerClass, settings);
}

/** Whether a Service is to have a load balancer, whosever it is. */
export function asksForLoadBalancer({ metadata, spec }: Service): boolean {
  return spec.type === LOAD_BALANCER && metadata.deletionTimestamp === undefined;
}

/**
 * Whether a Service that wants none may still have a load balancer of ours. As in the stock controller the finalizer of one that is being
 * deleted, or is of another type, is reason enough to ask the cloud: our annotation is a cache, and whoever replaces the Service drops it.
 * A living Service of another controller's class has that controller's finalizer, and is ours by our annotation alone.
 */
export function needsCleanup(service: Service, settings: ClassSettings = {}): boolean {
  if (wantsLoadBalancer(service, settings) || !hasFinalizer(service)) return false;
  return !asksForLoadBalancer(service) || isMarked(service);
}

/** Whether it lives and is of another type than LoadBalancer. */
export function hasLostType({ metadata, spec }: Service): boolean {
  return spec.type !== LOAD_BALANCER && metadata.deletionTimestamp === undefined;
}

/** Whether there is something to do on a Service as it is now, for whoever watches; `settings` are the cluster's. */
export function needsWork(service: Service, settings: Settings): boolean {
  if (!wantsLoadBalancer(service, settings)) return needsCleanup(service, settings);
  const mark = markOf(service);
  return (
    !hasFinalizer(service) ||
    mark?.state !== "applied" ||
    mark.making !== undefined ||
    !hasAppliedTargets(mark) ||
    mark.ingress !== hashOfIngress(ingressOf(service)) ||
    mark.seen !== seenHash(service, settings)
  );
}

/** Whether our annotation says that the load balancer of this very Service is ours. */
export function isMarked(service: Service): boolean {
  return markOf(service) !== undefined;
}

/** Whether the finalizer of load balancers is on it, whoever wrote it. */
export function hasFinalizer({ metadata: { finalizers } }: Service): boolean {
  return finalizers?.includes(LOAD_BALANCER_FINALIZER) === true;
}

/** The addresses in the status. */
export function ingressOf({ status }: Service): readonly Ingress[] {
  return status?.loadBalancer?.ingress ?? [];
}

/** Stands for addresses of a status. */
export function hashOfIngress(ingress: readonly Ingress[]): string {
  return hashOf(canonicalJson(ingress));
}

/** Stands for all of a Service, and of its cluster's configuration, that a load balancer may depend on. */
export function seenHash(service: Service, { cluster, cloud }: Settings): string {
  const { metadata, spec } = snapshotOf(service);
  const { [LOAD_BALANCER_ANNOTATION]: _, ...annotations } = metadata.annotations ?? {};
  return hashOf(canonicalJson({ annotations, spec, cluster, cloud }));
}

/**
 * Stands for all of a Service that its owner says of it, our annotation included: what an action of the cloud is guarded by. Finalizers and
 * status are left out.
 */
export function hashContent(service: Service): string {
  const { metadata, spec } = snapshotOf(service);
  const { uid, annotations, labels } = metadata;
  return hashOf(canonicalJson({ uid, annotations, labels, spec }));
}

const LOAD_BALANCER = "LoadBalancer";

/** Whether it is of type LoadBalancer, of a class whose controller we are. */
export function isOfOurClass({ spec }: Service, settings: ClassSettings = {}): boolean {
  return spec.type === LOAD_BALANCER && isOurClass(spec.loadBalancerClass, settings);
}

/** As in the stock controller any class that is set, an empty one too, is another's; ours is one more. Or it is the cluster's one alone. */
export function isOurClass(ofService: string | undefined, { loadBalancerClass }: ClassSettings): boolean {
  if (loadBalancerClass !== undefined) return ofService === loadBalancerClass;
  return ofService === undefined || ofService === LOAD_BALANCER_CLASS;
}
