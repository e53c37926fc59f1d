import * as z from "zod";
import { ClusterName, Controller } from "#core/event.ts";

const filePath = z.string().min(1);

/** How an identity signs in. Secrets are named by file, never held here: a cluster entry may be printed. */
export const SignIn = z.discriminatedUnion("kind", [
  /** A bearer token in a file, read again when it changes (a bound service account token is rotated). */
  z.strictObject({ kind: z.literal("token-file"), file: filePath }),
  /** A client certificate and its key in PEM files. */
  z.strictObject({ kind: z.literal("client-certificate"), certificateFile: filePath, keyFile: filePath }),
  /** Whatever a kubeconfig says, exec plugins included; for the relay and the command line, not for functions. */
  z.strictObject({ kind: z.literal("kubeconfig"), file: filePath, context: z.string().min(1).optional() }),
]);
export type SignIn = z.output<typeof SignIn>;

/** An IP family of node addresses, in the words of the AWS cloud-controller-manager's configuration. */
export const NodeIPFamily = z.enum(["ipv4", "ipv6"]);
export type NodeIPFamily = z.output<typeof NodeIPFamily>;

/** The cloud of a cluster on AWS. What is about nodes or identity is configuration, never the metadata service's word. */
export const AwsCloudConfig = z
  .strictObject({
    provider: z.literal("aws"),
    region: z.string().regex(/^[a-z]{2,}(-[a-z0-9]+)+-\d+$/, "an AWS region such as eu-central-1"),
    /** Instances must be in this VPC; needed unless `clusterTag` is given. */
    vpc: z
      .string()
      .regex(/^vpc-[0-9a-z]+$/, "a VPC id such as vpc-0123456789abcdef0")
      .optional(),
    /** Instances must carry the tag `kubernetes.io/cluster/<clusterTag>`; needed unless `vpc` is given. */
    clusterTag: z.string().min(1).max(108).optional(),
    /** Assumed for all calls; the account of the role is the account of the cluster. */
    roleArn: z
      .string()
      .regex(/^arn:[^:]+:iam::\d{12}:role\/.+$/, "the ARN of an IAM role")
      .optional(),
    /** Sent as x-amz-source-arn with AssumeRole, against the confused deputy. */
    sourceArn: z.string().regex(/^arn:/, "an ARN").optional(),
    externalId: z.string().min(2).max(1224).optional(),
    nodeIPFamilies: z.array(NodeIPFamily).min(1).max(2).prefault(["ipv4"]),
    /** Also finds an instance by the node's reported InternalIP; off because the address is the tenant's word. */
    matchByNodeIP: z.boolean().prefault(false),
    /** Instance types that are asked for their place in the network topology. */
    topologyInstanceTypePattern: z
      .string()
      .prefault(String.raw`^(hpc|trn|p)[0-9]+[a-z]*(-[a-z0-9]+)?(\.[0-9a-z]*)$`),
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
  .refine((cloud) => isRegularExpression(cloud.topologyInstanceTypePattern), {
    message: "not a regular expression",
    path: ["topologyInstanceTypePattern"],
  });
export type AwsCloudConfig = z.output<typeof AwsCloudConfig>;

/** The reference cloud, whose instances stand in a JSON file; for trying things out and for tests. */
export const MemoryCloudConfig = z.strictObject({ provider: z.literal("memory"), instancesFile: filePath });
export type MemoryCloudConfig = z.output<typeof MemoryCloudConfig>;

export const CloudConfig = z.discriminatedUnion("provider", [AwsCloudConfig, MemoryCloudConfig]);
export type CloudConfig = z.output<typeof CloudConfig>;

/** Bounds of what is done for one cluster at a time. */
export const Limits = z.strictObject({
  /** Invocations in flight, over all controllers. */
  invocations: z.int().min(1).max(100).prefault(4),
  /** Requests in flight to the API server from one function. */
  requestsPerFunction: z.int().min(1).max(128).prefault(32),
  /** The share of the account's API quotas that an event without a budget may spend. */
  floorShare: z.number().gt(0).max(1).prefault(0.05),
});
export type Limits = z.output<typeof Limits>;

/** Policies only tighten what is decided. */
export const Policies = z.strictObject({
  dryRun: z.boolean().prefault(false),
  /** Write labels, but neither addresses nor taints nor provider IDs. */
  labelsOnly: z.boolean().prefault(false),
});
export type Policies = z.output<typeof Policies>;

/** One cluster, as relay and functions both read it. */
export const Cluster = z.strictObject({
  name: ClusterName,
  /** Base URL of the API server, https. */
  server: z.url({ protocol: /^https$/ }),
  /** PEM file with the API server's certificate authority; the system's authorities without it. */
  certificateAuthorityFile: filePath.optional(),
  /** Two identities, so that neither can do what only the other must. */
  signIn: z.strictObject({ relay: SignIn.optional(), functions: SignIn.optional() }).prefault({}),
  cloud: CloudConfig,
  controllers: z.array(Controller).min(1).prefault(["cloud-node-controller"]),
  limits: Limits.prefault({}),
  policies: Policies.prefault({}),
});
export type Cluster = z.output<typeof Cluster>;

/** The file that holds clusters. */
export const ClustersFile = z
  .strictObject({ clusters: z.array(Cluster).min(1) })
  .refine((file) => new Set(file.clusters.map((cluster) => cluster.name)).size === file.clusters.length, {
    message: "two clusters have the same name",
    path: ["clusters"],
  });
export type ClustersFile = z.output<typeof ClustersFile>;

/**
 * Where clusters come from. Resolves to the named cluster, or to undefined where there is none of that name;
 * rejects where the source cannot be read. `fresh` bypasses any cache.
 */
export type Clusters = (name: string, options?: { readonly fresh?: boolean }) => Promise<Cluster | undefined>;

/**
 * What of a cluster's entry relay and function must agree on before anything is written, as canonical JSON: everything
 * but the ways to sign in, which differ between the two. Hash it with `clusterHash` of `kube/`.
 */
export function clusterFingerprint(cluster: Cluster): string {
  const { name, server, cloud, controllers, limits, policies } = cluster;
  return canonicalJson({ name, server, cloud, controllers, limits, policies });
}

function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const entries = Object.entries(value).filter(([, member]) => member !== undefined);
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`).join(",")}}`;
}

function isRegularExpression(source: string): boolean {
  try {
    new RegExp(source);
    return true;
  } catch {
    return false;
  }
}
