import { KubeVipCloudConfig } from "#clouds/kubevip/config.ts";
import { HOSTNAME_LABEL } from "#clouds/no-cloud/config.ts";
import { defineCloudProvider } from "#clouds/provider.ts";

export const kubevip = defineCloudProvider({
  provider: "kubevip",
  config: KubeVipCloudConfig,
  environment: {
    namespace: ["KUBEVIP_NAMESPACE"],
    configMap: ["KUBEVIP_CONFIG_MAP"],
    enableLoadBalancerClass: ["KUBEVIP_ENABLE_LOADBALANCERCLASS"],
    loadBalancerClass: ["KUBEVIP_CUSTOM_LOADBALANCERCLASS_NAME"],
  },
  describeCredentialSource: () => "the cluster's own sign-in: there is no account of a cloud",
  getQuotaKey: () => "",
  labelPrefixes: [],
  listNodeKeys: () => [HOSTNAME_LABEL],
  hasTrustedAddresses: () => false,
  getLoadBalancerClass: ({ enableLoadBalancerClass, loadBalancerClass }) =>
    enableLoadBalancerClass ? loadBalancerClass : undefined,
  async load(config, options) {
    const { createKubeVipCloud } = await import("#clouds/kubevip/cloud.ts");
    return createKubeVipCloud(config, options);
  },
  async importLoadBalancerModel() {
    return (await import("#clouds/kubevip/load-balancers/model.ts")).kubeVipModel;
  },
  async describeLoadBalancer(service, state) {
    const { describeAddresses } = await import("#clouds/kubevip/load-balancers/model.ts");
    return describeAddresses(service, state);
  },
});
