import { boolean } from "#clouds/digitalocean/load-balancers/annotations/reading.ts";
import type { AnnotationSuffix } from "#clouds/digitalocean/load-balancers/annotations/table.ts";
import type { Service } from "#core/service/service.ts";

/** How the names of most annotations begin. */
export const ANNOTATION_PREFIX = "service.beta.kubernetes.io/do-loadbalancer-";

/** An annotation's whole name. */
export function annotationName(suffix: AnnotationSuffix): string {
  return `${ANNOTATION_PREFIX}${suffix}`;
}

/** Which load balancer a Service has; we write it, as the stock controller does. */
export const ID_ANNOTATION = "kubernetes.digitalocean.com/load-balancer-id";

/** Says that the load balancer is left to whoever else it is to belong to. */
export const DISOWN_ANNOTATION = "service.kubernetes.io/do-loadbalancer-disown";

/** Whether the load balancer of a Service is to be left alone: neither changed nor deleted. */
export function isDisowned({ metadata: { annotations } }: Pick<Service, "metadata">): boolean {
  const read = boolean((annotations?.[DISOWN_ANNOTATION] ?? "").trim());
  return read.ok && read.value;
}
