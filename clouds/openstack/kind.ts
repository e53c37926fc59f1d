import * as z from "zod";
import { BaseURL } from "#clouds/base-url.ts";
import { cloudKind } from "#clouds/kind.ts";
import { isSortOrder } from "#clouds/openstack/sort-order.ts";
import { referenceWords, SecretReference } from "#clouds/secrets/reference.ts";
import { Switch } from "#clouds/switch.ts";

const Name = z.string().min(1).max(255);
const Names = z
  .union([Name.transform((name) => [name]), z.array(Name).min(1).max(20)], {
    error: "the name of a network, or several",
  })
  .optional();

/** The cloud of a cluster on OpenStack, in the words of its own controller. Password and secret are in a file or in a store, never here. */
export const OpenStackCloudConfig = z
  .strictObject({
    provider: z.literal("openstack"),
    /** Keystone's, with or without `/v3`. */
    "auth-url": BaseURL,
    /** As the catalogue names it; it is the region label, too. */
    region: z
      .string()
      .max(63)
      .regex(/^[A-Za-z0-9]([\w.-]*[A-Za-z0-9])?$/, "a region such as RegionOne"),
    /** Whose endpoints of the catalogue are used. */
    "os-endpoint-type": z.enum(["public", "internal", "admin"]).default("public"),
    /** Holds the certificates by which Keystone, Nova and Neutron are known, as PEM. */
    "ca-file": z.string().min(1).optional(),
    "application-credential-id": Name.optional(),
    /** Of the user that is named beside it. */
    "application-credential-name": Name.optional(),
    username: Name.optional(),
    "user-id": Name.optional(),
    "user-domain-name": Name.optional(),
    "user-domain-id": Name.optional(),
    /** Of user and tenant, where these have none of their own. */
    "domain-name": Name.optional(),
    "domain-id": Name.optional(),
    "tenant-id": Name.optional(),
    "tenant-name": Name.optional(),
    "tenant-domain-name": Name.optional(),
    "tenant-domain-id": Name.optional(),
    /** Holds the secret of the application credential, or the password. */
    "secret-file": z.string().min(1).optional(),
    /** Where that is kept, in place of a `secret-file`. */
    credentials: SecretReference.optional(),
    /** Whether provider IDs name the region. */
    regional: Switch.default(false),
    /** Servers must have a port in this network. */
    "network-id": z
      .string()
      .regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, "a network's UUID")
      .optional(),
    /** Servers must carry this tag; lists are narrowed by it. */
    "server-tag": z
      .string()
      .regex(/^[^,/]{1,60}$/, "a tag of a server: at most 60 characters without , and /")
      .optional(),
    /** Servers must have all of these pairs. */
    "server-metadata": z
      .record(Name, z.string().max(255))
      .refine((pairs) => Object.keys(pairs).length > 0, "at least one pair of metadata")
      .optional(),
    /** Their fixed addresses are external ones. */
    "public-network-name": Names,
    /** Addresses of others are left out. */
    "internal-network-name": Names,
    "ipv6-support-disabled": Switch.default(false),
    /** Networks in CIDR notation, by commas: addresses of the first go first. */
    "address-sort-order": z
      .string()
      .refine(isSortOrder, "networks such as 10.0.0.0/8, 2001:db8::/32")
      .optional(),
    /** How many requests a second there may be at most. */
    "requests-per-second": z.number().gt(0).max(1_000).default(10),
  })
  .superRefine((cloud, context) => {
    const fault = (key: string, message: string): void => {
      context.addIssue({ code: "custom", path: [key], message });
    };
    for (const [key, message] of faultsOf(cloud)) fault(key, message);
  });
export type OpenStackCloudConfig = z.output<typeof OpenStackCloudConfig>;

/** Where the secret is found without a `secret-file`: of an application credential, of a user. */
export const SECRET_VARIABLES = {
  applicationCredential: "OS_APPLICATION_CREDENTIAL_SECRET",
  password: "OS_PASSWORD",
} as const;

/** Whether it is an application credential that signs in; then a user and a tenant beside it say nothing. */
export function isByApplicationCredential(
  cloud: Pick<OpenStackCloudConfig, "application-credential-id" | "application-credential-name">,
): boolean {
  return (cloud["application-credential-id"] ?? cloud["application-credential-name"]) !== undefined;
}

export const openstack = cloudKind({
  provider: "openstack",
  ownership(cloud) {
    const { "server-tag": tag, "server-metadata": metadata = {}, "network-id": network } = cloud;
    const pairs = Object.entries(metadata).map(([key, value]) => `metadata ${key}=${value}`);
    const marks = [...(tag === undefined ? [] : [`server tag ${tag}`]), ...pairs.sort()];
    return {
      place: `project of ${placeOf(cloud)}`,
      isPlaceCertain: false,
      // A server has to have all of them.
      marks: marks.length === 0 ? [] : [marks.join(" and ")],
      network: network === undefined ? undefined : { kind: "id", value: network },
      takesUnmarked: marks.length === 0,
    };
  },
  config: OpenStackCloudConfig,
  environment: {
    "auth-url": ["OS_AUTH_URL"],
    region: ["OS_REGION_NAME"],
    "os-endpoint-type": ["OS_INTERFACE"],
    "ca-file": ["OS_CACERT"],
    "application-credential-id": ["OS_APPLICATION_CREDENTIAL_ID"],
    "application-credential-name": ["OS_APPLICATION_CREDENTIAL_NAME"],
    username: ["OS_USERNAME"],
    "user-id": ["OS_USER_ID"],
    "user-domain-name": ["OS_USER_DOMAIN_NAME"],
    "user-domain-id": ["OS_USER_DOMAIN_ID"],
    "domain-name": ["OS_DOMAIN_NAME"],
    "domain-id": ["OS_DOMAIN_ID"],
    "tenant-id": ["OS_PROJECT_ID", "OS_TENANT_ID"],
    "tenant-name": ["OS_PROJECT_NAME", "OS_TENANT_NAME"],
    "tenant-domain-name": ["OS_PROJECT_DOMAIN_NAME"],
    "tenant-domain-id": ["OS_PROJECT_DOMAIN_ID"],
    regional: ["OS_CCM_REGIONAL"],
  },
  credentialSource(config) {
    const { credentials, "secret-file": file } = config;
    const isCredential = isByApplicationCredential(config);
    const what = isCredential ? "the secret of the application credential" : "the password";
    if (credentials !== undefined) return `${what} in ${referenceWords(credentials)}`;
    if (file !== undefined) return `${what} in the file ${file}`;
    return `${what} in ${isCredential ? SECRET_VARIABLES.applicationCredential : SECRET_VARIABLES.password}`;
  },
  // What a deployment allows, it allows a project, which who signs in stands for.
  quotaKey: (cloud) => `openstack ${placeOf(cloud)}`,
  scaleIn:
    "without the autoscaler's taint it counts, unless Nova still shows the server as DELETED or SOFT_DELETED",
  labelPrefixes: [],
  async load(config, options) {
    const { loadOpenStackCloud } = await import("#clouds/openstack/cloud.ts");
    return loadOpenStackCloud(config, options);
  },
});

const WHO = [
  "application-credential-id",
  "application-credential-name",
  "user-id",
  "username",
  "tenant-id",
  "tenant-name",
] as const;

function placeOf(cloud: OpenStackCloudConfig): string {
  return [cloud["auth-url"], cloud.region, ...WHO.map((key) => cloud[key] ?? "-")].join(" ");
}

type Parsed = z.output<typeof OpenStackCloudConfig>;

/** What is missing, or there twice. */
function faultsOf(cloud: Parsed): [string, string][] {
  const faults: [string, string][] = [];
  const has = (...keys: (keyof Parsed)[]): boolean => keys.some((key) => cloud[key] !== undefined);
  if (!has("network-id", "server-tag", "server-metadata"))
    faults.push([
      "network-id",
      "network-id, server-tag or server-metadata is required: without any, a server cannot be told to belong to the cluster",
    ]);
  if (has("secret-file") && has("credentials"))
    faults.push([
      "credentials",
      "names the secret a second time, beside secret-file; leave one of the two out",
    ]);
  if (has("application-credential-id")) return faults;
  if (!has("username", "user-id")) {
    faults.push(["application-credential-id", "application-credential-id, username or user-id is required"]);
    return faults;
  }
  if (!has("user-id", "user-domain-name", "user-domain-id", "domain-name", "domain-id"))
    faults.push(["user-domain-name", "is required beside a username: names of users are those of a domain"]);
  if (has("application-credential-name")) return faults;
  if (!has("tenant-id", "tenant-name"))
    faults.push(["tenant-id", "tenant-id or tenant-name is required beside a user"]);
  else if (!has("tenant-id", "tenant-domain-name", "tenant-domain-id", "domain-name", "domain-id"))
    faults.push([
      "tenant-domain-name",
      "is required beside a tenant-name: names of tenants are those of a domain",
    ]);
  return faults;
}
