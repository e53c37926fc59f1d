import type { Cloud } from "#clouds/cloud.ts";
import { createLoadBalancers } from "#clouds/keepalived/capability.ts";
import type { KeepalivedCloudConfig } from "#clouds/keepalived/kind.ts";
import type { LoadCloudOptions } from "#clouds/kind.ts";
import { createNodesWithoutCloud } from "#clouds/no-cloud/nodes-without-cloud.ts";

/** Nodes by what their kubelets say, and load balancers in a ConfigMap of the cluster. */
export function createKeepalivedCloud(config: KeepalivedCloudConfig, { objects }: LoadCloudOptions): Cloud {
  return {
    ...createNodesWithoutCloud("keepalived", config.nodes),
    capabilities: { loadBalancers: createLoadBalancers(config, objects) },
  };
}
