import { readBoolean } from "#clouds/annotations/readers.ts";
import type { AnnotationSuffix } from "#clouds/digitalocean/load-balancers/annotations/table.ts";
import type { Service } from "#core/service/service.ts";

/** Prefix of most annotation names. */
export const ANNOTATION_PREFIX = "service.beta.kubernetes.io/do-loadbalancer-";

/** Formats an annotation's full name. */
export function formatAnnotationName(suffix: AnnotationSuffix): string {
  return `${ANNOTATION_PREFIX}${suffix}`;
}

/** The id of a Service's load balancer; we write it, as the stock controller does. */
export const ID_ANNOTATION = "kubernetes.digitalocean.com/load-balancer-id";

/** Says that the load balancer is left to another owner. */
export const DISOWN_ANNOTATION = "service.kubernetes.io/do-loadbalancer-disown";

/**
 * Whether the load balancer of a Service must be left alone, neither changed nor deleted; undefined if the
 * value is invalid.
 */
export function readDisowned({ metadata: { annotations } }: Pick<Service, "metadata">): boolean | undefined {
  const written = (annotations?.[DISOWN_ANNOTATION] ?? "").trim();
  if (written === "") return false;
  const read = readBoolean(written);
  return read.ok ? read.value : undefined;
}

/** Whether the load balancer is certainly disowned. */
export function isDisowned(service: Pick<Service, "metadata">): boolean {
  return readDisowned(service) === true;
}
