import type { Cloud } from "#clouds/cloud.ts";
import type { LoadCloudOptions } from "#clouds/kind.ts";
import { createLoadBalancers } from "#clouds/kubevip/capability.ts";
import type { KubeVipCloudConfig } from "#clouds/kubevip/kind.ts";
import { createNodesWithoutCloud } from "#clouds/no-cloud/nodes-without-cloud.ts";

/** Nodes by what their kubelets say, and load balancers by what is written on Services. */
export function createKubeVipCloud(
  config: KubeVipCloudConfig,
  { objects }: LoadCloudOptions,
  now: () => number = () => performance.now(),
): Cloud {
  return {
    ...createNodesWithoutCloud("kubevip", config.nodes),
    capabilities: { loadBalancers: createLoadBalancers(config, objects, now) },
  };
}
