import { createAwsCloud } from "#clouds/aws/cloud.ts";
import { AwsCloudConfig } from "#clouds/aws/config.ts";
import type { Cloud } from "#clouds/cloud.ts";
import type { Cluster } from "#config/cluster.ts";

/** A cluster's AWS cloud in a new process, which never waits in real time. */
export function createAwsWithoutWaits({ name, cloud }: Pick<Cluster, "name" | "cloud">): Cloud {
  let nowMs = performance.now();
  return createAwsCloud(AwsCloudConfig.parse(cloud), {
    clusterName: name,
    now: () => nowMs,
    sleep: async (delayMs) => {
      nowMs += delayMs;
    },
  });
}
