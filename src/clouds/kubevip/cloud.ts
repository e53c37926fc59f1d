import type { Cloud } from "#clouds/cloud.ts";
import type { KubeVipCloudConfig } from "#clouds/kubevip/config.ts";
import { createLazyCapability } from "#clouds/lazy-capability.ts";
import { createNodesWithoutCloud } from "#clouds/no-cloud/cloud.ts";
import type { LoadCloudOptions } from "#clouds/provider.ts";

/**
 * Creates a cloud with nodes as their kubelets report them, and load balancers from annotations of Services.
 */
export function createKubeVipCloud(
  config: KubeVipCloudConfig,
  { objects }: LoadCloudOptions,
  now: () => number = () => performance.now(),
): Cloud {
  return {
    ...createNodesWithoutCloud("kubevip", config.nodes),
    capabilities: {
      loadBalancers: createLazyCapability(async () => {
        const { createLoadBalancers } = await import("#clouds/kubevip/load-balancers/capability.ts");
        return createLoadBalancers(config, objects, now);
      }),
    },
  };
}
