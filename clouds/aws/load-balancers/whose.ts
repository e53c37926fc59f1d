import { additionalTags, judgeTags } from "#clouds/aws/load-balancers/annotations/additional-tags.ts";
import { annotationName } from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import {
  allowedOf,
  clusterTagOf,
  configurationOf,
  type LoadBalancerConfiguration,
} from "#clouds/aws/load-balancers/configuration.ts";
import { loadBalancerNameOf } from "#clouds/aws/load-balancers/load-balancer-name.ts";
import type { Owner } from "#clouds/aws/load-balancers/pieces.ts";
import type { AwsLoadBalancerState } from "#clouds/aws/load-balancers/state.ts";
import type { Service } from "#core/service/service.ts";
import type { Settings } from "#core/settings.ts";

/** Whose load balancer is planned, and on what. */
export interface Whose {
  /** Of the load balancer, of either kind. */
  readonly name: string;
  readonly owner: Owner;
  readonly state: AwsLoadBalancerState;
  readonly configuration: LoadBalancerConfiguration;
  readonly settings: Settings;
}

/** Whose load balancer a Service's is; undefined where no load balancer can have the name that follows from its uid. */
export function whoseOf(
  { metadata }: Service,
  state: AwsLoadBalancerState,
  settings: Settings,
): Whose | undefined {
  const name = loadBalancerNameOf(metadata.uid);
  if (name === undefined) return undefined;
  const configuration = configurationOf(settings);
  const written = metadata.annotations?.[annotationName("additional-resource-tags")];
  // Faults of it are told where a load balancer is wanted; what is to go needs none of these tags.
  const tags = written === undefined ? undefined : additionalTags(written);
  const owner: Owner = {
    namespace: metadata.namespace,
    name: metadata.name,
    uid: metadata.uid,
    clusterTag: clusterTagOf(settings),
    legacy: configuration.legacyClusterTag === true,
    additionalTags: tags?.ok === true ? judgeTags(tags.value, allowedOf(configuration).tagKeys).settable : {},
  };
  return { name, owner, state, configuration, settings };
}
