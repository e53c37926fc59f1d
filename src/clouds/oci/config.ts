import * as z from "zod";
import { findRegion, getRealm, getRealmDomain, isOcid } from "#clouds/oci/regions.ts";
import { SecretReference } from "#platforms/secrets/reference.ts";

const buildOcidSchema = (type: string, ...others: readonly string[]) =>
  z.string().refine((text) => isOcid(text, type, ...others), {
    error: `the OCID of a ${type}, which begins with ocid1.${type}.`,
  });

/** https, or http to this machine: an origin only, because the signed request must arrive unchanged. */
const Origin = z
  .string()
  .refine((text) => URL.canParse(text), { error: "a URL", abort: true })
  .refine(
    (text) => new URL(text).origin === text.replace(/\/$/, ""),
    "a URL of a host alone, without path, user name, query and fragment",
  )
  .refine(
    (text) => /^(https:|http:\/\/(localhost|127(\.\d{1,3}){3}|\[::1\])(:|\/|$))/.test(text),
    "https is required, except for localhost",
  );

const API_KEY = "needs a machine on Oracle Cloud, and nothing here runs there; give an API key under auth";

/** A sign-in method that is not supported: it may only be set to false. */
const buildUnsupportedSchema = (reason: string) => z.literal(false, { error: `false: ${reason}` }).optional();

const Qps = z.number().gt(0).max(1_000).optional();

const Bucket = z.int().min(1).max(1_000).optional();

/** Base URLs, for realms with unknown hosts and for tests. */
const Endpoints = z.strictObject({
  iaas: Origin.optional(),
  identity: Origin.optional(),
  loadBalancer: Origin.optional(),
  networkLoadBalancer: Origin.optional(),
});

/** The API signing key's owner and location; never the key itself. */
const OciAuth = z.strictObject({
  /** A region's name, or its short key. */
  region: z
    .string()
    .refine((text) => findRegion(text) !== undefined, { error: "a region such as us-phoenix-1, or phx" }),
  tenancy: buildOcidSchema("tenancy"),
  user: buildOcidSchema("user"),
  fingerprint: z
    .string()
    .regex(/^[0-9a-f]{2}(:[0-9a-f]{2}){15}$/i, "an API key's fingerprint: 16 bytes in hex, aa:bb:…"),
  /** A file with the key as PEM, read again when it changes. */
  keyFile: z.string().min(1).optional(),
  /** A file with the key's passphrase, if it has one. */
  passphraseFile: z.string().min(1).optional(),
});

const Subnet = z.string().refine((text) => text === "" || isOcid(text, "subnet"), {
  error: "the OCID of a subnet, which begins with ocid1.subnet.",
});

/** Freeform and defined tags, as Oracle's API takes them. */
const Tags = z.strictObject({
  freeform: z.record(z.string().min(1).max(100), z.string().max(256)).optional(),
  defined: z.record(z.string().min(1).max(100), z.record(z.string().min(1).max(100), z.unknown())).optional(),
});

/** The placement of load balancers, and the manager of their inbound rules. */
const OciLoadBalancerConfig = z.strictObject({
  /** Disables load balancers for all Services. */
  disabled: z.boolean().optional(),
  subnet1: Subnet.optional(),
  subnet2: Subnet.optional(),
  securityListManagementMode: z.enum(["All", "Frontend", "None", "NSG"]).optional(),
  /** The security list with managed rules, by subnet. */
  securityLists: z.record(z.string(), z.string()).optional(),
});

/**
 * Configuration of a cluster on Oracle Cloud Infrastructure. Keys of the stock controller's
 * `cloud-provider.yaml` that have no meaning here are accepted too.
 */
export const OciCloudConfig = z
  .strictObject({
    provider: z.literal("oci"),
    auth: OciAuth,
    /**
     * Reference to the API signing key, in place of `auth.keyFile`: PEM, or JSON with `key` and `passphrase`.
     */
    credentials: SecretReference.optional(),
    /** The compartment with the instances. */
    compartment: buildOcidSchema("compartment", "tenancy"),
    /** Further compartments with instances. */
    compartments: z.array(buildOcidSchema("compartment", "tenancy")).max(20).optional(),
    /** Instances must have their primary VNIC in this VCN. */
    vcn: buildOcidSchema("vcn").optional(),
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
    /** Tags of new resources; tags of volumes have no meaning here. */
    tags: z
      .strictObject({
        loadBalancer: Tags.optional(),
        common: Tags.optional(),
        blockVolume: z.unknown().optional(),
        fss: z.unknown().optional(),
      })
      .optional(),
    /** `IPv6` for clusters with IPv6 only. */
    ipFamily: z
      .string()
      .regex(/^(IPv4|IPv6|IPv4,IPv6|IPv6,IPv4)$/, "IPv4, IPv6 or both, with a comma")
      .optional(),
    /** Prefix of the names of load balancers. */
    loadBalancerPrefix: z.string().max(64).optional(),
    endpoints: Endpoints.optional(),
    useInstancePrincipals: buildUnsupportedSchema(`an instance principal ${API_KEY}`),
    useWorkloadIdentity: buildUnsupportedSchema(`workload identity ${API_KEY}`),
    regionKey: z.unknown().optional(),
    metrics: z.unknown().optional(),
  })
  .refine(({ vcn, loadBalancer }) => vcn !== undefined || loadBalancer?.disabled === true, {
    message:
      "vcn is required, unless loadBalancer.disabled is true and every node has its provider ID from its kubelet: without it nothing but the compartment tells the cluster's instances from others",
    path: ["vcn"],
  })
  .refine(({ auth, credentials }) => (auth.keyFile === undefined) !== (credentials === undefined), {
    message: "the API signing key is required, once: set auth.keyFile or credentials",
    path: ["auth", "keyFile"],
  })
  .refine(
    ({ auth, endpoints }) => getRealmDomain(getRealm(auth.tenancy)) !== undefined || isComplete(endpoints),
    {
      message: "is required with all of its keys, because the hosts of the tenancy's realm are unknown",
      path: ["endpoints"],
    },
  );
export type OciCloudConfig = z.output<typeof OciCloudConfig>;

/** Label of a node that gets its IPv6 addresses; its value is ignored. */
export const IPV6_LABEL = "oci.oraclecloud.com/ip-family-ipv6";

/** Annotation of a node or Service: the compartment of its instance or load balancer. */
export const COMPARTMENT_ANNOTATION = "oci.oraclecloud.com/compartment-id";

/** Label of a node with its instance's fault domain. */
export const FAULT_DOMAIN_LABEL = "oci.oraclecloud.com/fault-domain";

/** Label of a node in an IPv6-only cluster: its full availability domain, for Oracle's storage driver. */
export const FULL_AD_LABEL = "csi-ipv6-full-ad-name";

/** Returns the location of the API signing key. */
export function getKeyReference({
  auth,
  credentials,
}: Pick<OciCloudConfig, "auth" | "credentials">): SecretReference {
  return credentials ?? { file: auth.keyFile ?? "" };
}

/** Returns the compartments with possible instances, the cluster's own first. */
export function listCompartments({ compartment, compartments = [] }: OciCloudConfig): readonly string[] {
  return [...new Set([compartment, ...compartments])];
}

function isComplete(endpoints: z.output<typeof Endpoints> | undefined): boolean {
  return Object.keys(Endpoints.shape).every((key) => Object.hasOwn(endpoints ?? {}, key));
}
