import {
  getAllowedResources,
  getClusterTag,
  getConfiguration,
  type LoadBalancerConfiguration,
} from "#clouds/aws/load-balancers/configuration.ts";
import { formatLoadBalancerName } from "#clouds/aws/load-balancers/names.ts";
import type { AllowedResources } from "#clouds/aws/load-balancers/ownership.ts";
import type { AwsLoadBalancerState } from "#clouds/aws/load-balancers/state.ts";
import type { Owner } from "#clouds/aws/load-balancers/types.ts";
import type { LoadBalancerQuestion } from "#core/service/model.ts";
import type { Settings } from "#core/settings.ts";

/** The part of a cluster's cloud configuration that classic load balancers read. */
export interface ClassicConfiguration extends LoadBalancerConfiguration {
  /** Replaces a group of the load balancer's own; never changed. */
  readonly elbSecurityGroup?: string | undefined;
}

/** The owner, state and configuration on which the plan of a load balancer depends. */
export interface ClassicContext {
  readonly question: LoadBalancerQuestion;
  readonly state: AwsLoadBalancerState;
  readonly configuration: ClassicConfiguration;
  readonly allow: AllowedResources;
  /** Without the Service's additional tags, which only the desired state has. */
  readonly owner: Owner;
  /**
   * The load balancer's name, derived from the Service's uid as in the stock controller; empty if the uid
   * gives no valid name.
   */
  readonly name: string;
  /** The name of its own security group. */
  readonly groupName: string;
}

/** Builds the context of a Service's classic load balancer. */
export function buildClassicContext(
  question: LoadBalancerQuestion,
  state: AwsLoadBalancerState,
  settings: Settings,
): ClassicContext {
  const { namespace, name: serviceName, uid } = question.service.metadata;
  const configuration: ClassicConfiguration = getConfiguration(settings);
  const owner = {
    namespace,
    name: serviceName,
    uid,
    clusterTag: getClusterTag(settings),
    legacy: configuration.legacyClusterTag === true,
    additionalTags: {},
  };
  const name = formatLoadBalancerName(uid) ?? "";
  const allow = getAllowedResources(configuration);
  return { question, state, configuration, allow, owner, name, groupName: `k8s-elb-${name}` };
}
