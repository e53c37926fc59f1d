import { AwsCloudConfig } from "#clouds/aws/config.ts";
import { OWN_LABEL_PREFIX } from "#clouds/aws/labels-from-tags.ts";
import { describeUnknownRegion, KNOWN_REGIONS } from "#clouds/aws/regions.ts";
import { defineCloudProvider } from "#clouds/provider.ts";
import { formatReference } from "#platforms/secrets/reference.ts";

export const aws = defineCloudProvider({
  provider: "aws",
  config: AwsCloudConfig,
  environment: { region: ["AWS_REGION", "AWS_DEFAULT_REGION"] },
  describeCredentialSource({ roleArn, credentials }) {
    const source =
      credentials === undefined
        ? "the AWS SDK's standard chain"
        : `access keys in ${formatReference(credentials)}`;
    return roleArn === undefined ? source : `the role ${roleArn}, by ${source}`;
  },
  // Invocations with the same role, or none, in the same region share quotas. The account of access keys is
  // unknown before they are read, but equal keys have one account.
  getQuotaKey: ({ roleArn, credentials, region }) =>
    `aws ${roleArn?.split(":")[4] ?? (credentials === undefined ? "default" : formatReference(credentials))} ${region}`,
  // Without `clusterTag`, the tag of an instance must name the cluster if the instance has a cluster tag.
  getOwnershipClaim({ roleArn, credentials, region, vpc, clusterTag }, clusterName) {
    const account = roleArn?.split(":")[4];
    const source =
      credentials === undefined ? "of this process's credentials" : `of ${formatReference(credentials)}`;
    return {
      place: `account ${account ?? source}, region ${region}`,
      isPlaceCertain: account !== undefined,
      marks: [`tag kubernetes.io/cluster/${clusterTag ?? clusterName}`],
      network: vpc === undefined ? undefined : { kind: "id", value: vpc },
      takesUnmarked: clusterTag === undefined,
    };
  },
  newEntry: { sessionPolicy: "strict" },
  labelPrefixes: [OWN_LABEL_PREFIX],
  listLabels: ({ labelsFromTags = [] }) => labelsFromTags.map(({ label }) => label),
  listConfigWarnings: ({ region, sessionPolicy }) => [
    ...(KNOWN_REGIONS.includes(region)
      ? []
      : [`region: "${region}" is not a region that this version knows${describeUnknownRegion(region)}`]),
    ...(sessionPolicy === "none" ? [NO_SESSION_POLICY] : []),
  ],
  async load(config, options) {
    const { createAwsCloud } = await import("#clouds/aws/cloud.ts");
    return createAwsCloud(config, options);
  },
  async importLoadBalancerModel() {
    return (await import("#clouds/aws/load-balancers/model.ts")).awsLoadBalancerModel;
  },
  async importNodeTagsModel() {
    return (await import("#clouds/aws/tags/model.ts")).awsTags;
  },
  async describeLoadBalancer(service, state, settings) {
    const { describeOnAws } = await import("#clouds/aws/load-balancers/describe.ts");
    return describeOnAws(service, state, settings);
  },
  async diagnose(config, options) {
    const { diagnoseAws } = await import("#clouds/aws/diagnose.ts");
    return diagnoseAws(config, options);
  },
});

const NO_SESSION_POLICY =
  "sessionPolicy: none gives sessions for this cluster all rights of the role, on other clusters of its account too";
