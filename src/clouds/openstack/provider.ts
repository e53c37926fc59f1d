import {
  isByApplicationCredential,
  OpenStackCloudConfig,
  SECRET_VARIABLES,
} from "#clouds/openstack/config.ts";
import { defineCloudProvider } from "#clouds/provider.ts";
import { formatReference } from "#platforms/secrets/reference.ts";

export const openstack = defineCloudProvider({
  provider: "openstack",
  getOwnershipClaim(cloud) {
    const { "server-tag": tag, "server-metadata": metadata = {}, "network-id": network } = cloud;
    const pairs = Object.entries(metadata).map(([key, value]) => `metadata ${key}=${value}`);
    const marks = [...(tag === undefined ? [] : [`server tag ${tag}`]), ...pairs.sort()];
    return {
      place: `project of ${formatPlace(cloud)}`,
      isPlaceCertain: false,
      // A server must have all of them.
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
  describeCredentialSource(config) {
    const { credentials, "secret-file": file } = config;
    const isCredential = isByApplicationCredential(config);
    const secretName = isCredential ? "the secret of the application credential" : "the password";
    if (credentials !== undefined) return `${secretName} in ${formatReference(credentials)}`;
    if (file !== undefined) return `${secretName} in the file ${file}`;
    return `${secretName} in ${isCredential ? SECRET_VARIABLES.applicationCredential : SECRET_VARIABLES.password}`;
  },
  // Quotas belong to a project, which the sign-in identity stands for.
  getQuotaKey: (cloud) => `openstack ${formatPlace(cloud)}`,
  scaleIn:
    "without the autoscaler's taint it counts, unless Nova still shows the server as DELETED or SOFT_DELETED",
  labelPrefixes: [],
  async load(config, options) {
    const { loadOpenStackCloud } = await import("#clouds/openstack/cloud.ts");
    return loadOpenStackCloud(config, options);
  },
  async diagnose(config, options) {
    const { diagnoseOpenStack } = await import("#clouds/openstack/diagnose.ts");
    return diagnoseOpenStack(config, options);
  },
});

const IDENTITY_KEYS = [
  "application-credential-id",
  "application-credential-name",
  "user-id",
  "username",
  "tenant-id",
  "tenant-name",
] as const;

function formatPlace(cloud: OpenStackCloudConfig): string {
  return [cloud["auth-url"], cloud.region, ...IDENTITY_KEYS.map((key) => cloud[key] ?? "-")].join(" ");
}
