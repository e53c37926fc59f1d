import { CLOUD_LATENCY_MS, type DemoCloud } from "#cli/demo/clouds/demo-cloud.ts";
import { createAwsCloud } from "#clouds/aws/cloud.ts";
import { AwsCloudConfig } from "#clouds/aws/config.ts";
import { startEc2 } from "#emulators/ec2/server.ts";

const REGION = "eu-central-1";
const VPC = "vpc-0de30de30de30de30";
const CONFIG = { provider: "aws", region: REGION, vpc: VPC } as const;

/** Starts an emulated EC2 endpoint. */
export async function startAws(): Promise<DemoCloud> {
  const ec2 = await startEc2({ region: REGION, behaviour: { latencyMs: CLOUD_LATENCY_MS } });
  return {
    words: "AWS SDK → EC2 (embedded)",
    config: CONFIG,
    // The SDK reads endpoint and keys from the environment, as for users.
    environment: { AWS_ENDPOINT_URL_EC2: ec2.url },
    load: () => createAwsCloud(AwsCloudConfig.parse(CONFIG)),
    add(count) {
      const instances = ec2.addInstances(Array.from({ length: count }, () => ({ vpcId: VPC })));
      return instances.map(({ id, availabilityZone, privateDnsName }) => ({
        name: privateDnsName,
        providerID: `aws:///${availabilityZone}/${id}`,
      }));
    },
    counts: () => ec2.counts(),
    close: () => ec2.close(),
  };
}
