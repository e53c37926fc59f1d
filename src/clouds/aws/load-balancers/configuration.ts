import type { AllowedResources, ClusterIdentity } from "#clouds/aws/load-balancers/ownership.ts";
import type { Settings } from "#core/settings.ts";

/**
 * The part of a cluster's cloud configuration that its load balancers read: keys of the parsed
 * `AwsCloudConfig`.
 */
export interface LoadBalancerConfiguration {
  readonly vpc?: string | undefined;
  readonly clusterTag?: string | undefined;
  /** The stock controller's `--cluster-name`, part of the names of managed security groups. */
  readonly clusterName?: string | undefined;
  readonly legacyClusterTag?: boolean | undefined;
  readonly disableSecurityGroupIngress?: boolean | undefined;
  readonly nlbSecurityGroupMode?: string | undefined;
  readonly sharedBackendSecurityGroup?: boolean | undefined;
  readonly clusterServiceLoadBalancerHealthProbeMode?: string | undefined;
  readonly clusterServiceSharedLoadBalancerHealthProbePort?: number | undefined;
  readonly clusterServiceSharedLoadBalancerHealthProbePath?: string | undefined;
  readonly replaceOnTypeChange?: boolean | undefined;
  readonly subnetID?: string | undefined;
  readonly serviceNodePortRange?: string | undefined;
  readonly allow?: Partial<AllowedResources> | undefined;
}

/** Returns a cluster's settings as load balancers read them. */
export function getConfiguration({ cloud }: Settings): LoadBalancerConfiguration {
  // It was parsed as an `AwsCloudConfig`; the caller has chosen this model by its provider.
  return cloud as LoadBalancerConfiguration;
}

/** Returns `<tag>` of `kubernetes.io/cluster/<tag>`. */
export function getClusterTag(settings: Settings): string {
  return getConfiguration(settings).clusterTag ?? settings.cluster;
}

/** Returns the resources of others that Services may name; none by default. */
export function getAllowedResources({ allow }: LoadBalancerConfiguration): AllowedResources {
  return { ...NOTHING, ...allow };
}

/** Returns the criteria that tell the cluster's resources from all others. */
export function getIdentity(settings: Settings): ClusterIdentity {
  return { clusterTag: getClusterTag(settings), allow: getAllowedResources(getConfiguration(settings)) };
}

/** Returns the first and the last port that the API server gives to Services. */
export function getNodePortRange({
  serviceNodePortRange = "30000-32767",
}: LoadBalancerConfiguration): readonly [first: number, last: number] {
  const [first = 0, last = 0] = serviceNodePortRange.split("-").map(Number);
  return [first, last];
}

const NOTHING: AllowedResources = {
  securityGroups: [],
  subnets: [],
  elasticIPs: [],
  certificates: [],
  buckets: [],
  nodeSecurityGroups: [],
};
