import { createAwsCloud } from "#clouds/aws/cloud.ts";
import { AwsCloudConfig } from "#clouds/aws/kind.ts";
import type { Cloud } from "#clouds/cloud.ts";
import type { Cluster } from "#config/cluster.ts";

/** A cluster's AWS as a new process has it, which has waited as soon as it begins to. */
export function awsWithoutWaits({ name, cloud }: Pick<Cluster, "name" | "cloud">): Cloud {
  let nowMs = performance.now();
  return createAwsCloud(AwsCloudConfig.parse(cloud), {
    clusterName: name,
    now: () => nowMs,
    sleep: async (delayMs) => {
      nowMs += delayMs;
    },
  });
}
