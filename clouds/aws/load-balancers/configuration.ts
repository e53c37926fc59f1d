import type { AllowedResources, ClusterIdentity } from "#clouds/aws/load-balancers/ownership.ts";
import type { Settings } from "#core/settings.ts";

/** What of a cluster's cloud its load balancers depend on: keys of `AwsCloudConfig`, as that has parsed them. */
export interface LoadBalancerConfiguration {
  readonly vpc?: string | undefined;
  readonly clusterTag?: string | undefined;
  /** The stock controller's `--cluster-name`, of which names of managed security groups are made. */
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

/** A cluster's settings as load balancers read them. */
export function configurationOf({ cloud }: Settings): LoadBalancerConfiguration {
  // It was parsed as an `AwsCloudConfig`; whoever calls has chosen this model by its provider.
  return cloud as LoadBalancerConfiguration;
}

/** What stands for `<tag>` in `kubernetes.io/cluster/<tag>`. */
export function clusterTagOf(settings: Settings): string {
  return configurationOf(settings).clusterTag ?? settings.cluster;
}

/** What of others Services may name; nothing where nothing is said. */
export function allowedOf({ allow }: LoadBalancerConfiguration): AllowedResources {
  return { ...NOTHING, ...allow };
}

/** Returns what tells the cluster's resources from all others. */
export function identityFor(settings: Settings): ClusterIdentity {
  return { clusterTag: clusterTagOf(settings), allow: allowedOf(configurationOf(settings)) };
}

/** Returns the first and the last port that the API server gives to Services. */
export function nodePortRangeIn({
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
