import type { Said } from "#clouds/oci/load-balancers/annotations/table.ts";
import type { DefinedTags, FreeformTags } from "#clouds/oci/load-balancers/annotations/tags.ts";
import type { LoadBalancerConfiguration } from "#clouds/oci/load-balancers/configuration.ts";
import {
  CLUSTER_TAG,
  CREATED_BY,
  CREATED_BY_TAG,
  SERVICE_TAG,
  SERVICE_UID_TAG,
} from "#clouds/oci/load-balancers/tags.ts";
import type { Service } from "#core/service/service.ts";

/** The tags of a load balancer that is made: those of the annotation or as configured, those of everything, and whose it is. */
export function tagsOf(
  service: Pick<Service, "metadata">,
  said: Said,
  { tags }: LoadBalancerConfiguration,
  cluster: string,
): { readonly freeformTags: FreeformTags; readonly definedTags: DefinedTags } {
  const freeform = said.freeformTags ?? said.freeformTagsBefore ?? tags?.loadBalancer?.freeform;
  const defined = said.definedTags ?? said.definedTagsBefore ?? tags?.loadBalancer?.defined;
  return {
    freeformTags: { ...tags?.common?.freeform, ...freeform, ...whose(service, cluster) },
    definedTags: joined(tags?.common?.defined, defined),
  };
}

/** The tags of its managed network security group. */
export function groupTagsOf(service: Pick<Service, "metadata">, cluster: string): FreeformTags {
  return {
    [CREATED_BY_TAG]: CREATED_BY,
    [SERVICE_UID_TAG]: service.metadata.uid,
    ...whose(service, cluster),
  };
}

function whose({ metadata: { namespace, name } }: Pick<Service, "metadata">, cluster: string): FreeformTags {
  return { [CLUSTER_TAG]: cluster, [SERVICE_TAG]: `${namespace}/${name}` };
}

function joined(one: DefinedTags = {}, other: DefinedTags = {}): DefinedTags {
  const namespaces = new Set([...Object.keys(one), ...Object.keys(other)]);
  return Object.fromEntries([...namespaces].map((name) => [name, { ...one[name], ...other[name] }]));
}
