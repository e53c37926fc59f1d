import type { Cloud } from "#clouds/cloud.ts";
import type { KeepalivedCloudConfig } from "#clouds/keepalived/config.ts";
import { createLazyCapability } from "#clouds/lazy-capability.ts";
import { createNodesWithoutCloud } from "#clouds/no-cloud/cloud.ts";
import type { LoadCloudOptions } from "#clouds/provider.ts";

/**
 * Creates a cloud with nodes as their kubelets report them, and load balancers in a ConfigMap of the cluster.
 */
export function createKeepalivedCloud(config: KeepalivedCloudConfig, { objects }: LoadCloudOptions): Cloud {
  return {
    ...createNodesWithoutCloud("keepalived", config.nodes),
    capabilities: {
      loadBalancers: createLazyCapability(async () => {
        const { createLoadBalancers } = await import("#clouds/keepalived/load-balancers/capability.ts");
        return createLoadBalancers(config, objects);
      }),
    },
  };
}
