import type { Cloud } from "#clouds/cloud.ts";
import { createLoadBalancers } from "#clouds/keepalived/capability.ts";
import type { KeepalivedCloudConfig } from "#clouds/keepalived/config.ts";
import { createNodesWithoutCloud } from "#clouds/no-cloud/nodes-without-cloud.ts";
import type { LoadCloudOptions } from "#clouds/provider.ts";

/**
 * Creates a cloud with nodes as their kubelets report them, and load balancers in a ConfigMap of the cluster.
 */
export function createKeepalivedCloud(config: KeepalivedCloudConfig, { objects }: LoadCloudOptions): Cloud {
  return {
    ...createNodesWithoutCloud("keepalived", config.nodes),
    capabilities: { loadBalancers: createLoadBalancers(config, objects) },
  };
}
