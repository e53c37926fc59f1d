import {
  allowedOf,
  clusterTagOf,
  configurationOf,
  type LoadBalancerConfiguration,
} from "#clouds/aws/load-balancers/configuration.ts";
import { loadBalancerNameOf } from "#clouds/aws/load-balancers/load-balancer-name.ts";
import type { AllowedResources } from "#clouds/aws/load-balancers/ownership.ts";
import type { Owner } from "#clouds/aws/load-balancers/pieces.ts";
import type { AwsLoadBalancerState } from "#clouds/aws/load-balancers/state.ts";
import type { LoadBalancerQuestion } from "#core/service/model.ts";
import type { Settings } from "#core/settings.ts";

/** What of a cluster's cloud classic load balancers depend on. */
export interface ClassicConfiguration extends LoadBalancerConfiguration {
  /** Stands for a group of the load balancer's own; never changed. */
  readonly elbSecurityGroup?: string | undefined;
}

/** Whose load balancer is planned, and on what. */
export interface ClassicContext {
  readonly question: LoadBalancerQuestion;
  readonly state: AwsLoadBalancerState;
  readonly configuration: ClassicConfiguration;
  readonly allow: AllowedResources;
  /** Without the Service's additional tags, which only what is wanted has. */
  readonly owner: Owner;
  /** Of the load balancer, as the stock controller derives it from the Service's uid; empty where none can be. */
  readonly name: string;
  /** Of its own security group. */
  readonly groupName: string;
}

/** Whose load balancer is planned, and on what. */
export function contextOf(
  question: LoadBalancerQuestion,
  state: AwsLoadBalancerState,
  settings: Settings,
): ClassicContext {
  const { namespace, name: serviceName, uid } = question.service.metadata;
  const configuration: ClassicConfiguration = configurationOf(settings);
  const owner = {
    namespace,
    name: serviceName,
    uid,
    clusterTag: clusterTagOf(settings),
    legacy: configuration.legacyClusterTag === true,
    additionalTags: {},
  };
  const name = loadBalancerNameOf(uid) ?? "";
  const allow = allowedOf(configuration);
  return { question, state, configuration, allow, owner, name, groupName: `k8s-elb-${name}` };
}
