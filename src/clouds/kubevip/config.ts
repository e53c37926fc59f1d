import * as z from "zod";
import { ObjectName } from "#clouds/config-fields.ts";

/** The default class of kube-vip's Services. */
export const DEFAULT_CLASS = "kube-vip.io/kube-vip-class";

/** A flag, also as the text of an environment variable. */
const Flag = z.union([z.boolean(), z.stringbool({ truthy: ["true", "1"], falsy: ["false", "0"] })], {
  error: "true or false",
});

/**
 * A cluster whose load balancers are addresses that kube-vip announces, from pools in a ConfigMap of the
 * cluster.
 */
export const KubeVipCloudConfig = z.strictObject({
  provider: z.literal("kubevip"),
  /** Namespace of the ConfigMap with the pools. */
  namespace: ObjectName.prefault("kube-system"),
  configMap: ObjectName.prefault("kubevip"),
  /** Only Services of `loadBalancerClass` get an address; by default only those without a class. */
  enableLoadBalancerClass: Flag.prefault(false),
  loadBalancerClass: z
    .string()
    .max(253)
    .regex(/^([a-z0-9.-]+\/)?[A-Za-z0-9]([-\w.]*[A-Za-z0-9])?$/, `a class such as ${DEFAULT_CLASS}`)
    .prefault(DEFAULT_CLASS),
  /** Whether a Service may name an address outside of its pool. */
  outsidePool: z.enum(["allow", "refuse"]).prefault("allow"),
  /** Whether nodes are initialized from their kubelets' data, or left to others. */
  nodes: z.enum(["no-cloud", "none"]).prefault("no-cloud"),
});
export type KubeVipCloudConfig = z.output<typeof KubeVipCloudConfig>;
