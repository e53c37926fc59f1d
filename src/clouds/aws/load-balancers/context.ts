import { checkTags, readAdditionalTags } from "#clouds/aws/load-balancers/annotations/additional-tags.ts";
import { formatAnnotationName } from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import {
  getAllowedResources,
  getClusterTag,
  getConfiguration,
  type LoadBalancerConfiguration,
} from "#clouds/aws/load-balancers/configuration.ts";
import { formatLoadBalancerName } from "#clouds/aws/load-balancers/names.ts";
import type { AwsLoadBalancerState } from "#clouds/aws/load-balancers/state.ts";
import type { Owner } from "#clouds/aws/load-balancers/types.ts";
import type { Service } from "#core/service/service.ts";
import type { Settings } from "#core/settings.ts";

/** The owner, state and configuration on which the plan of a load balancer depends. */
export interface LoadBalancerContext {
  /** The name of the load balancer, of either type. */
  readonly name: string;
  readonly owner: Owner;
  readonly state: AwsLoadBalancerState;
  readonly configuration: LoadBalancerConfiguration;
  readonly settings: Settings;
}

/** Returns the context of a Service's load balancer; undefined if its uid gives no valid name. */
export function contextFor(
  { metadata }: Service,
  state: AwsLoadBalancerState,
  settings: Settings,
): LoadBalancerContext | undefined {
  const name = formatLoadBalancerName(metadata.uid);
  if (name === undefined) return undefined;
  const configuration = getConfiguration(settings);
  const written = metadata.annotations?.[formatAnnotationName("additional-resource-tags")];
  // Invalid tags are reported if a load balancer is desired; a removal needs none of them.
  const tags = written === undefined ? undefined : readAdditionalTags(written);
  const owner: Owner = {
    namespace: metadata.namespace,
    name: metadata.name,
    uid: metadata.uid,
    clusterTag: getClusterTag(settings),
    legacy: configuration.legacyClusterTag === true,
    additionalTags:
      tags?.ok === true ? checkTags(tags.value, getAllowedResources(configuration).tagKeys).settable : {},
  };
  return { name, owner, state, configuration, settings };
}
