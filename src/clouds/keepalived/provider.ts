import { KeepalivedCloudConfig } from "#clouds/keepalived/config.ts";
import { HOSTNAME_LABEL } from "#clouds/no-cloud/config.ts";
import { defineCloudProvider } from "#clouds/provider.ts";

export const keepalived = defineCloudProvider({
  provider: "keepalived",
  config: KeepalivedCloudConfig,
  environment: {
    namespace: ["KEEPALIVED_NAMESPACE"],
    configMap: ["KEEPALIVED_CONFIG_MAP"],
    serviceCIDR: ["KEEPALIVED_SERVICE_CIDR"],
    defaultForwardMethod: ["KEEPALIVED_DEFAULT_FORWARD_METHOD"],
  },
  describeCredentialSource: () => "the cluster's own sign-in: there is no account of a cloud",
  getQuotaKey: () => "",
  labelPrefixes: [],
  listNodeKeys: () => [HOSTNAME_LABEL],
  hasTrustedAddresses: () => false,
  async load(config, options) {
    const { createKeepalivedCloud } = await import("#clouds/keepalived/cloud.ts");
    return createKeepalivedCloud(config, options);
  },
  ingress: "ip",
  async importLoadBalancerModel() {
    return (await import("#clouds/keepalived/load-balancers/model.ts")).keepalivedModel;
  },
  async describeLoadBalancer(_, state) {
    const { describeEntry } = await import("#clouds/keepalived/load-balancers/model.ts");
    return describeEntry(state);
  },
});
