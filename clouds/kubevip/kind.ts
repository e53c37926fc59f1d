import * as z from "zod";
import { cloudKind } from "#clouds/kind.ts";
import { HOSTNAME_LABEL } from "#clouds/no-cloud/kind.ts";
import { ObjectName } from "#clouds/object-name.ts";

/** The class of Services that are kube-vip's, where nobody names another one. */
export const DEFAULT_CLASS = "kube-vip.io/kube-vip-class";

/** A flag, also as the text that an environment variable is. */
const Flag = z.union([z.boolean(), z.stringbool({ truthy: ["true", "1"], falsy: ["false", "0"] })], {
  error: "true or false",
});

/** A cluster whose load balancers are addresses that kube-vip announces, out of pools in a ConfigMap of the cluster. */
export const KubeVipCloudConfig = z.strictObject({
  provider: z.literal("kubevip"),
  /** Of the ConfigMap with the pools. */
  namespace: ObjectName.prefault("kube-system"),
  configMap: ObjectName.prefault("kubevip"),
  /** Only Services of `loadBalancerClass` get an address; without it those without a class. */
  enableLoadBalancerClass: Flag.prefault(false),
  loadBalancerClass: z
    .string()
    .max(253)
    .regex(/^([a-z0-9.-]+\/)?[A-Za-z0-9]([-\w.]*[A-Za-z0-9])?$/, `a class such as ${DEFAULT_CLASS}`)
    .prefault(DEFAULT_CLASS),
  /** Whether a Service may name an address that is not in its pool. */
  outsidePool: z.enum(["allow", "refuse"]).prefault("allow"),
  /** Whether nodes are initialized by what their kubelets say, or left to others. */
  nodes: z.enum(["no-cloud", "none"]).prefault("no-cloud"),
});
export type KubeVipCloudConfig = z.output<typeof KubeVipCloudConfig>;

export const kubevip = cloudKind({
  provider: "kubevip",
  config: KubeVipCloudConfig,
  environment: {
    namespace: ["KUBEVIP_NAMESPACE"],
    configMap: ["KUBEVIP_CONFIG_MAP"],
    enableLoadBalancerClass: ["KUBEVIP_ENABLE_LOADBALANCERCLASS"],
    loadBalancerClass: ["KUBEVIP_CUSTOM_LOADBALANCERCLASS_NAME"],
  },
  credentialSource: () => "the cluster's own sign-in: there is no account of a cloud",
  quotaKey: () => "",
  labelPrefixes: [],
  nodeKeysOf: () => [HOSTNAME_LABEL],
  vouchesForAddresses: () => false,
  loadBalancerClassOf: ({ enableLoadBalancerClass, loadBalancerClass }) =>
    enableLoadBalancerClass ? loadBalancerClass : undefined,
  async load(config, options) {
    const { createKubeVipCloud } = await import("#clouds/kubevip/cloud.ts");
    return createKubeVipCloud(config, options);
  },
});
