import * as z from "zod";
import { LabelsFromTags, OWN_LABEL_PREFIX } from "#clouds/aws/labels-from-tags.ts";
import { LOAD_BALANCER_KEYS } from "#clouds/aws/load-balancer-settings.ts";
import { Quotas } from "#clouds/aws/quota-settings.ts";
import { isRegionName, KNOWN_REGIONS, regionWords } from "#clouds/aws/regions.ts";
import { SESSION_POLICIES, sessionPolicyFault } from "#clouds/aws/session-policy.ts";
import { cloudKind } from "#clouds/kind.ts";
import { referenceWords, SecretReference } from "#clouds/secrets/reference.ts";
import { shown } from "#core/shown-text.ts";

/** An IP family of node addresses, in the words of the AWS cloud-controller-manager's configuration. */
export const NodeIPFamily = z.enum(["ipv4", "ipv6"]);
export type NodeIPFamily = z.output<typeof NodeIPFamily>;

/** The cloud of a cluster on AWS. What is about nodes or identity is configuration, never the metadata service's word. */
export const AwsCloudConfig = z
  .strictObject({
    provider: z.literal("aws"),
    /** Refused where no region's name is put together so; one that is merely unknown may be new. */
    region: z
      .string("an AWS region such as eu-central-1")
      .refine(isRegionName, { error: ({ input }) => noRegion(String(input)) }),
    /** Instances must be in this VPC; needed unless `clusterTag` is given. */
    vpc: z
      .string()
      .regex(/^vpc-[0-9a-z]+$/, "a VPC id such as vpc-0123456789abcdef0")
      .optional(),
    /** Instances must carry the tag `kubernetes.io/cluster/<clusterTag>`; needed unless `vpc` is given. */
    clusterTag: z.string().min(1).max(108).optional(),
    /** Assumed for all calls, `{function}` being the name of the function that does; its account is the account of the cluster. */
    roleArn: z
      .string()
      .regex(
        /^arn:[^:]+:iam::\d{12}:role\/([^{}]|\{function\})+$/,
        "the ARN of an IAM role; {function} in its name is the name of the function that assumes it",
      )
      .optional(),
    /** How far the role's sessions are narrowed to this cluster. */
    sessionPolicy: z.enum(SESSION_POLICIES, "strict, compatible or none").prefault("compatible"),
    /** Sent as x-amz-source-arn with AssumeRole, against the confused deputy. */
    sourceArn: z.string().regex(/^arn:/, "an ARN").optional(),
    externalId: z.string().min(2).max(1224).optional(),
    /** Where access keys are kept, in place of the SDK's standard chain; with `roleArn` it is assumed with them. */
    credentials: SecretReference.optional(),
    /** The route tables that routes to pods are in; those that carry the cluster's tag without it. */
    routeTableIDs: z
      .array(z.string().regex(/^rtb-[0-9a-z]+$/, "a route table id such as rtb-0123456789abcdef0"))
      .min(1)
      .max(50)
      .optional(),
    nodeIPFamilies: z.array(NodeIPFamily).min(1).max(2).prefault(["ipv4"]),
    /** Also finds an instance by the node's reported InternalIP; off because the address is the tenant's word. */
    matchByNodeIP: z.boolean().prefault(false),
    /** Tags of an instance that its node gets as labels. */
    labelsFromTags: LabelsFromTags.optional(),
    /** Instance types that are asked for their place in the network topology. */
    topologyInstanceTypePattern: z
      .string()
      .prefault(String.raw`^(hpc|trn|p)[0-9]+[a-z]*(-[a-z0-9]+)?(\.[0-9a-z]*)$`),
    /** What AWS lets the account do, where it is not what everybody gets. */
    quotas: Quotas.optional(),
    ...LOAD_BALANCER_KEYS,
  })
  .refine((cloud) => cloud.vpc !== undefined || cloud.clusterTag !== undefined, {
    message:
      "vpc or clusterTag is required: without either, an instance cannot be told to belong to the cluster",
    path: ["vpc"],
  })
  .refine((cloud) => new Set(cloud.nodeIPFamilies).size === cloud.nodeIPFamilies.length, {
    message: "a family stands here twice",
    path: ["nodeIPFamilies"],
  })
  .refine(({ routeTableIDs = [] }) => new Set(routeTableIDs).size === routeTableIDs.length, {
    message: "a route table stands here twice",
    path: ["routeTableIDs"],
  })
  .refine((cloud) => isRegularExpression(cloud.topologyInstanceTypePattern), {
    message: "not a regular expression",
    path: ["topologyInstanceTypePattern"],
  })
  .check(({ value, issues }) => {
    const message = sessionPolicyFault({ ...value, clusterName: LONGEST_NAME });
    if (message !== undefined)
      issues.push({ code: "custom", input: value.sessionPolicy, path: ["sessionPolicy"], message });
  })
  .refine((cloud) => !cloud.sharedBackendSecurityGroup || !cloud.disableSecurityGroupIngress, {
    message: "its rules stand on the nodes' groups, which disableSecurityGroupIngress leaves alone",
    path: ["sharedBackendSecurityGroup"],
  });
export type AwsCloudConfig = z.output<typeof AwsCloudConfig>;

export const aws = cloudKind({
  provider: "aws",
  config: AwsCloudConfig,
  environment: { region: ["AWS_REGION", "AWS_DEFAULT_REGION"] },
  credentialSource({ roleArn, credentials }) {
    const source =
      credentials === undefined
        ? "the AWS SDK's standard chain"
        : `access keys in ${referenceWords(credentials)}`;
    return roleArn === undefined ? source : `the role ${roleArn}, by ${source}`;
  },
  // Invocations with the same role (or none) in the same region spend from the same quotas; of keys, nobody knows the account before
  // they are read, but the same keys are of the same one.
  quotaKey: ({ roleArn, credentials, region }) =>
    `aws ${roleArn?.split(":")[4] ?? (credentials === undefined ? "default" : referenceWords(credentials))} ${region}`,
  // Without `clusterTag` the cluster's name is what a tag has to say, where an instance has one.
  ownership({ roleArn, credentials, region, vpc, clusterTag }, clusterName) {
    const account = roleArn?.split(":")[4];
    const source =
      credentials === undefined ? "of this process's credentials" : `of ${referenceWords(credentials)}`;
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
  labelsOf: ({ labelsFromTags = [] }) => labelsFromTags.map(({ label }) => label),
  doubts: ({ region, sessionPolicy }) => [
    ...(KNOWN_REGIONS.includes(region)
      ? []
      : [`region: "${region}" is no region that this version knows${regionWords(region)}`]),
    ...(sessionPolicy === "none" ? [NO_SESSION_POLICY] : []),
  ],
  async load(config, options) {
    const { createAwsCloud } = await import("#clouds/aws/cloud.ts");
    return createAwsCloud(config, options);
  },
});

/** The cluster's name stands in for `clusterTag`, and is not known here; the key of a tag has room for so much of it. */
const LONGEST_NAME = "x".repeat(106);

const NO_SESSION_POLICY =
  "sessionPolicy: none lets sessions for this cluster do all that the role may, to other clusters of its account, too";

function noRegion(name: string): string {
  return `"${shown(name, 64)}" is no AWS region such as eu-central-1${regionWords(name)}`;
}

function isRegularExpression(source: string): boolean {
  try {
    new RegExp(source);
    return true;
  } catch {
    return false;
  }
}
