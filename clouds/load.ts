import type { Cloud } from "#clouds/cloud.ts";
import type { CloudConfig } from "#core/cluster.ts";

/** What loading a cloud takes beyond its configuration. */
export interface LoadCloudOptions {
  /** Who asks, as it stands in the cloud's own logs; the cluster's name. */
  readonly clusterName?: string;
}

/**
 * The cloud of a configuration. Each cloud's code, and with it its SDK, is imported only here and only when asked for,
 * so that neither size nor start-up time is paid for a cloud not in use.
 */
export async function loadCloud(config: CloudConfig, options: LoadCloudOptions = {}): Promise<Cloud> {
  switch (config.provider) {
    case "aws": {
      const { createAwsCloud } = await import("#clouds/aws/cloud.ts");
      return createAwsCloud(config, options);
    }
    case "memory": {
      const { createMemoryCloud, readMemoryWorld } = await import("#clouds/memory.ts");
      return createMemoryCloud(readMemoryWorld(config.instancesFile));
    }
  }
}
