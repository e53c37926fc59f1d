import type { AnnotationSettings } from "#clouds/oci/load-balancers/annotations/table.ts";
import type { LoadBalancerConfiguration } from "#clouds/oci/load-balancers/configuration.ts";
import {
  CLUSTER_TAG,
  CREATED_BY,
  CREATED_BY_TAG,
  type DefinedTags,
  type FreeformTags,
  SERVICE_TAG,
  SERVICE_UID_TAG,
} from "#clouds/oci/load-balancers/tags.ts";
import type { Service } from "#core/service/service.ts";

/**
 * Builds the tags of a new load balancer: those of the annotation or the configuration, the common ones, and
 * the ownership tags.
 */
export function buildTags(
  service: Pick<Service, "metadata">,
  annotationSettings: AnnotationSettings,
  { tags }: LoadBalancerConfiguration,
  cluster: string,
): { readonly freeformTags: FreeformTags; readonly definedTags: DefinedTags } {
  const freeform =
    annotationSettings.freeformTags ?? annotationSettings.freeformTagsBefore ?? tags?.loadBalancer?.freeform;
  const defined =
    annotationSettings.definedTags ?? annotationSettings.definedTagsBefore ?? tags?.loadBalancer?.defined;
  return {
    freeformTags: { ...tags?.common?.freeform, ...freeform, ...buildServiceTags(service, cluster) },
    definedTags: mergeDefinedTags(tags?.common?.defined, defined),
  };
}

/** Builds the tags of its managed network security group. */
export function buildGroupTags(service: Pick<Service, "metadata">, cluster: string): FreeformTags {
  return {
    [CREATED_BY_TAG]: CREATED_BY,
    [SERVICE_UID_TAG]: service.metadata.uid,
    ...buildServiceTags(service, cluster),
  };
}

function buildServiceTags(
  { metadata: { namespace, name } }: Pick<Service, "metadata">,
  cluster: string,
): FreeformTags {
  return { [CLUSTER_TAG]: cluster, [SERVICE_TAG]: `${namespace}/${name}` };
}

function mergeDefinedTags(one: DefinedTags = {}, other: DefinedTags = {}): DefinedTags {
  const namespaces = new Set([...Object.keys(one), ...Object.keys(other)]);
  return Object.fromEntries([...namespaces].map((name) => [name, { ...one[name], ...other[name] }]));
}
