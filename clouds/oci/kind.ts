import * as z from "zod";
import { cloudKind } from "#clouds/kind.ts";
import { fromStockFile } from "#clouds/oci/from-stock-file.ts";
import { OciLoadBalancerConfig, Tags } from "#clouds/oci/load-balancer-config.ts";
import { isOcid, realmOf } from "#clouds/oci/ocid.ts";
import { domainOfRealm, regionNamed } from "#clouds/oci/regions.ts";
import { referenceWords, SecretReference } from "#clouds/secrets/reference.ts";

const ocid = (type: string, ...others: readonly string[]) =>
  z.string().refine((text) => isOcid(text, type, ...others), {
    error: `the OCID of a ${type}, which begins with ocid1.${type}.`,
  });

/** https, or http to this very machine: an origin, as what is signed has to be what arrives. */
const Origin = z
  .string()
  .refine((text) => URL.canParse(text), { error: "a URL", abort: true })
  .refine(
    (text) => new URL(text).origin === text.replace(/\/$/, ""),
    "a URL of a host alone, without path, user name, query and fragment",
  )
  .refine(
    (text) => /^(https:|http:\/\/(localhost|127(\.\d{1,3}){3}|\[::1\])(:|\/|$))/.test(text),
    "https is required, but for this very machine",
  );

const API_KEY = "needs a machine on Oracle Cloud, and nothing here runs there; give an API key under auth";

/** What would be a way to sign in, and is none of ours: false may stand there. */
const notBuilt = (because: string) => z.literal(false, { error: `false: ${because}` }).optional();

const Qps = z.number().gt(0).max(1_000).optional();
const Bucket = z.int().min(1).max(1_000).optional();

/** Base URLs, for realms whose hosts are not known and for tests. */
const Endpoints = z.strictObject({
  iaas: Origin.optional(),
  identity: Origin.optional(),
  loadBalancer: Origin.optional(),
  networkLoadBalancer: Origin.optional(),
});

/** The API signing key, of whom it is, and where it is kept; never the key. */
const OciAuth = z.strictObject({
  /** A region's name, or its short key. */
  region: z
    .string()
    .refine((text) => regionNamed(text) !== undefined, { error: "a region such as us-phoenix-1, or phx" }),
  tenancy: ocid("tenancy"),
  user: ocid("user"),
  fingerprint: z
    .string()
    .regex(/^[0-9a-f]{2}(:[0-9a-f]{2}){15}$/i, "an API key's fingerprint: 16 bytes in hex, aa:bb:…"),
  /** Holds the key as PEM, and is read again when it changes. */
  keyFile: z.string().min(1).optional(),
  /** Holds the key's passphrase, where it has one. */
  passphraseFile: z.string().min(1).optional(),
});

/**
 * The cloud of a cluster on Oracle Cloud Infrastructure. Beside what is used, the keys of the stock controller's `cloud-provider.yaml`
 * that have no meaning here may stand.
 */
export const OciCloudConfig = z
  .strictObject({
    provider: z.literal("oci"),
    auth: OciAuth,
    /** Where the API signing key is kept, in place of `auth.keyFile`: PEM, or JSON with `key` and `passphrase`. */
    credentials: SecretReference.optional(),
    /** Instances are looked for here … */
    compartment: ocid("compartment", "tenancy"),
    /** … and in these. */
    compartments: z.array(ocid("compartment", "tenancy")).max(20).optional(),
    /** Instances must have their primary VNIC in this VCN. */
    vcn: ocid("vcn").optional(),
    loadBalancer: OciLoadBalancerConfig.optional(),
    rateLimiter: z
      .strictObject({
        rateLimitQPSRead: Qps,
        rateLimitBucketRead: Bucket,
        rateLimitQPSWrite: Qps,
        rateLimitBucketWrite: Bucket,
        disableRateLimiter: z.boolean().optional(),
      })
      .optional(),
    /** Tags of what is made; those of volumes have no meaning here. */
    tags: z
      .strictObject({
        loadBalancer: Tags.optional(),
        common: Tags.optional(),
        blockVolume: z.unknown().optional(),
        fss: z.unknown().optional(),
      })
      .optional(),
    /** `IPv6` for clusters with IPv6 alone. */
    ipFamily: z
      .string()
      .regex(/^(IPv4|IPv6|IPv4,IPv6|IPv6,IPv4)$/, "IPv4, IPv6 or both, with a comma")
      .optional(),
    /** Stands before the names of load balancers. */
    loadBalancerPrefix: z.string().max(64).optional(),
    endpoints: Endpoints.optional(),
    useInstancePrincipals: notBuilt(`an instance principal ${API_KEY}`),
    useWorkloadIdentity: notBuilt(`workload identity ${API_KEY}`),
    regionKey: z.unknown().optional(),
    metrics: z.unknown().optional(),
  })
  .refine(({ vcn, loadBalancer }) => vcn !== undefined || loadBalancer?.disabled === true, {
    message:
      "vcn is required, unless loadBalancer.disabled is true and every node has its provider ID from its kubelet: without it nothing but the compartment tells the cluster's instances from others",
    path: ["vcn"],
  })
  .refine(({ auth, credentials }) => (auth.keyFile === undefined) !== (credentials === undefined), {
    message: "the API signing key is required, once: name its file here, or its home under credentials",
    path: ["auth", "keyFile"],
  })
  .refine(
    ({ auth, endpoints }) => domainOfRealm(realmOf(auth.tenancy)) !== undefined || isComplete(endpoints),
    {
      message: "is required with all of its keys, as the hosts of the tenancy's realm are not known",
      path: ["endpoints"],
    },
  );
export type OciCloudConfig = z.output<typeof OciCloudConfig>;

/** Label of a node that is to have its IPv6 addresses; its value does not matter. */
export const IPV6_LABEL = "oci.oraclecloud.com/ip-family-ipv6";

/** Annotation of a node, and of a Service: the compartment of its instance or load balancer. */
export const COMPARTMENT_ANNOTATION = "oci.oraclecloud.com/compartment-id";

/** Label of a node with its instance's fault domain. */
export const FAULT_DOMAIN_LABEL = "oci.oraclecloud.com/fault-domain";

/** Label of a node of a cluster with IPv6 alone: its availability domain in full, for Oracle's storage driver. */
export const FULL_AD_LABEL = "csi-ipv6-full-ad-name";

export const oci = cloudKind({
  provider: "oci",
  config: OciCloudConfig,
  environment: { ipFamily: ["CLUSTER_IP_FAMILY"], loadBalancerPrefix: ["LOAD_BALANCER_PREFIX"] },
  fromFile: fromStockFile,
  credentialSource: (config) => `the API signing key in ${referenceWords(keyReference(config))}`,
  // Oracle throttles users, within a tenancy and a region.
  quotaKey: ({ auth, endpoints }) =>
    `oci ${endpoints?.iaas ?? regionNamed(auth.region)} ${auth.tenancy} ${auth.user}`,
  // Instances carry no mark of a cluster, and load balancers its name.
  ownership: (config, clusterName) => ({
    place: `tenancy ${config.auth.tenancy}, region ${regionNamed(config.auth.region)}, compartments ${[...compartmentsOf(config)].sort().join(" ")}`,
    isPlaceCertain: true,
    marks: [`load balancer tag of cluster ${clusterName}`],
    network: config.vcn === undefined ? undefined : { kind: "id", value: config.vcn },
    takesUnmarked: true,
  }),
  doubts({ metrics, regionKey, tags }) {
    const given = { metrics, regionKey, "tags.blockVolume": tags?.blockVolume, "tags.fss": tags?.fss };
    const unused = Object.entries(given).flatMap(([key, value]) => (value === undefined ? [] : [key]));
    return unused.length === 0 ? [] : [`${unused.join(", ")}: without effect here, and may go`];
  },
  scaleIn:
    "without the autoscaler's taint it counts once OCI no longer shows the instance as TERMINATED, which takes about an hour",
  labelPrefixes: [],
  labelsOf: () => [FAULT_DOMAIN_LABEL, FULL_AD_LABEL],
  nodeKeysOf: () => [IPV6_LABEL, COMPARTMENT_ANNOTATION],
  async load(config, options) {
    const { loadOciCloud } = await import("#clouds/oci/cloud.ts");
    return loadOciCloud(config, options);
  },
});

/** Where the API signing key is kept. */
export function keyReference({
  auth,
  credentials,
}: Pick<OciCloudConfig, "auth" | "credentials">): SecretReference {
  return credentials ?? { file: auth.keyFile ?? "" };
}

/** The compartments in which instances may be, the cluster's own first. */
export function compartmentsOf({ compartment, compartments = [] }: OciCloudConfig): readonly string[] {
  return [...new Set([compartment, ...compartments])];
}

function isComplete(endpoints: z.output<typeof Endpoints> | undefined): boolean {
  return Object.keys(Endpoints.shape).every((key) => Object.hasOwn(endpoints ?? {}, key));
}
