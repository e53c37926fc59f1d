import { boolean } from "#clouds/annotations/reading.ts";
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

/** Whether the load balancer of a Service is to be left alone, neither changed nor deleted; undefined where that cannot be read. */
export function readDisowned({ metadata: { annotations } }: Pick<Service, "metadata">): boolean | undefined {
  const written = (annotations?.[DISOWN_ANNOTATION] ?? "").trim();
  if (written === "") return false;
  const read = boolean(written);
  return read.ok ? read.value : undefined;
}

/** Whether it certainly is. */
export function isDisowned(service: Pick<Service, "metadata">): boolean {
  return readDisowned(service) === true;
}
