import { DEFAULT_ENDPOINT, HcloudCloudConfig, TOKEN_VARIABLE } from "#clouds/hcloud/config.ts";
import { normalizeLabelSelector } from "#clouds/hcloud/label-selector.ts";
import { defineCloudProvider } from "#clouds/provider.ts";
import { formatReference } from "#platforms/secrets/reference.ts";

export const hcloud = defineCloudProvider({
  provider: "hcloud",
  getOwnershipClaim({ labelSelector, network, ...token }) {
    const kind = network !== undefined && /^[1-9]\d*$/.test(network) ? "id" : "name";
    return {
      place: `project of ${formatTokenPlace(token)}`,
      isPlaceCertain: false,
      marks: labelSelector === undefined ? [] : [`label selector ${normalizeLabelSelector(labelSelector)}`],
      network: network === undefined ? undefined : { kind, value: network },
      takesUnmarked: labelSelector === undefined,
    };
  },
  config: HcloudCloudConfig,
  environment: {
    tokenFile: ["HCLOUD_TOKEN_FILE"],
    endpoint: ["HCLOUD_ENDPOINT"],
    network: ["HCLOUD_NETWORK"],
    addressFamily: ["HCLOUD_INSTANCES_ADDRESS_FAMILY"],
    zoneLabel: ["HCLOUD_INSTANCES_ZONE_LABEL_ENABLED"],
  },
  describeCredentialSource({ tokenFile, credentials }) {
    if (credentials !== undefined) return `the API token in ${formatReference(credentials)}`;
    return tokenFile === undefined
      ? `the API token in ${TOKEN_VARIABLE}`
      : `the API token in the file ${tokenFile}`;
  },
  // Quotas and tokens belong to a project. The source of a token tells projects apart without holding the
  // token.
  getQuotaKey: (config) => `hcloud ${formatTokenPlace(config)}`,
  scaleIn:
    "without the autoscaler's taint it counts, unless the latest 50 actions on the project's servers show it",
  labelPrefixes: ["instance.hetzner.cloud/"],
  async load(config, options) {
    const { loadHcloudCloud } = await import("#clouds/hcloud/cloud.ts");
    return loadHcloudCloud(config, options);
  },
  async diagnose(config, options) {
    const { diagnoseHcloud } = await import("#clouds/hcloud/diagnose.ts");
    return diagnoseHcloud(config, options);
  },
});

/** Formats the endpoint and the source of the token. */
function formatTokenPlace({
  tokenFile,
  credentials,
  endpoint = DEFAULT_ENDPOINT,
}: Pick<HcloudCloudConfig, "tokenFile" | "credentials" | "endpoint">): string {
  return `${endpoint} ${credentials === undefined ? (tokenFile ?? `$${TOKEN_VARIABLE}`) : formatReference(credentials)}`;
}
