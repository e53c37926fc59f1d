import { HOSTNAME_LABEL, NoCloudConfig } from "#clouds/no-cloud/config.ts";
import { defineCloudProvider } from "#clouds/provider.ts";

export const noCloud = defineCloudProvider({
  provider: "no-cloud",
  config: NoCloudConfig,
  environment: {},
  describeCredentialSource: () => "nowhere: it needs none",
  getQuotaKey: () => "",
  listConfigWarnings: ({ rules = [] }) => {
    const all = rules.findIndex(({ names, networks }) => networks === undefined && names?.includes("*"));
    if (all === -1 || all === rules.length - 1) return [];
    return [`rules[${all}] matches all nodes: later rules have no effect`];
  },
  labelPrefixes: [],
  listLabels: ({ rules = [] }) => [...new Set(rules.flatMap(({ labels = {} }) => Object.keys(labels)))],
  listNodeKeys: () => [HOSTNAME_LABEL],
  hasTrustedAddresses: () => false,
  async load(config) {
    const { createNoCloud } = await import("#clouds/no-cloud/cloud.ts");
    return createNoCloud(config);
  },
});
