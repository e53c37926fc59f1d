import {
  CreateSubnetCommand,
  CreateTagsCommand,
  CreateVpcCommand,
  DeleteTagsCommand,
  EC2Client,
  RunInstancesCommand,
  StopInstancesCommand,
  TerminateInstancesCommand,
} from "@aws-sdk/client-ec2";
import { vi } from "vitest";
import { createAwsCloud } from "#clouds/aws/cloud.ts";
import { AwsCloudConfig } from "#clouds/aws/config.ts";
import { DENIED, FAILED, type Gate, type GateAnswer, openGate, THROTTLED } from "#test/clouds/aws/gate.ts";
import type { Breakage, CloudWorld, WorldInstance } from "#test/clouds/conformance.ts";

/** An AWS world behind a gate, with access that the cloud contract does not give. */
export interface AwsHttpWorld extends CloudWorld {
  readonly gate: Gate;
  readonly ec2: EC2Client;
  readonly config: AwsCloudConfig;
}

const REGION = "eu-central-1";
const CLUSTER_TAG = { Key: "kubernetes.io/cluster/demo", Value: "owned" };

/**
 * Creates the AWS cloud on an endpoint that speaks EC2's API, configured by the environment as an operator
 * does. The instances are in their own VPC and carry the cluster's tag.
 */
export async function createAwsHttpWorld(endpoint: string, imageId: string): Promise<AwsHttpWorld> {
  const gate = await openGate(endpoint);
  vi.stubEnv("AWS_ENDPOINT_URL_EC2", gate.url);
  vi.stubEnv("AWS_ACCESS_KEY_ID", "test");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "test");
  vi.stubEnv("AWS_EC2_METADATA_DISABLED", "true");
  const ec2 = new EC2Client({ region: REGION, endpoint });
  const { Vpc } = await ec2.send(new CreateVpcCommand({ CidrBlock: "10.7.0.0/16" }));
  const vpc = Vpc?.VpcId ?? "";
  const { Subnet } = await ec2.send(
    new CreateSubnetCommand({ VpcId: vpc, CidrBlock: "10.7.0.0/20", AvailabilityZone: `${REGION}a` }),
  );
  const subnet = Subnet?.SubnetId ?? "";
  const config = AwsCloudConfig.parse({ provider: "aws", region: REGION, vpc, clusterTag: "demo" });
  const cloud = createAwsCloud(config);
  const add = async (): Promise<WorldInstance> => {
    const { Instances: [instance] = [] } = await ec2.send(
      new RunInstancesCommand({
        ImageId: imageId,
        MinCount: 1,
        MaxCount: 1,
        SubnetId: subnet,
        TagSpecifications: [{ ResourceType: "instance", Tags: [CLUSTER_TAG] }],
      }),
    );
    if (!instance?.InstanceId || !instance.PrivateDnsName) throw new Error("no instance was made");
    const id = instance.InstanceId;
    return {
      id,
      nodeName: instance.PrivateDnsName,
      providerID: `aws:///${instance.Placement?.AvailabilityZone}/${id}`,
    };
  };
  return {
    cloud,
    gate,
    ec2,
    config,
    unknownProviderID: "aws:///eu-central-1a/i-00000000000000bad",
    invalidProviderID: "aws:///eu-central-1a/vol-00000000000000bad",
    addInstance: add,
    async stop({ id }) {
      await ec2.send(new StopInstancesCommand({ InstanceIds: [id] }));
    },
    async terminate({ id }) {
      await ec2.send(new TerminateInstancesCommand({ InstanceIds: [id] }));
    },
    async makeForeign({ id }) {
      await ec2.send(new DeleteTagsCommand({ Resources: [id], Tags: [{ Key: CLUSTER_TAG.Key }] }));
      const theirs = { Key: "kubernetes.io/cluster/theirs", Value: "owned" };
      await ec2.send(new CreateTagsCommand({ Resources: [id], Tags: [theirs] }));
      return [id, CLUSTER_TAG.Key, theirs.Key];
    },
    async breakApi(how) {
      gate.answer(how === undefined ? undefined : ANSWERS[how]);
    },
    requests: () => [...gate.counts.values()].reduce((sum, each) => sum + each, 0),
    async close() {
      await cloud.close();
      ec2.destroy();
      await gate.close();
      vi.unstubAllEnvs();
    },
  };
}

const ANSWERS: Readonly<Record<Breakage, GateAnswer>> = {
  Throttled: THROTTLED,
  Denied: DENIED,
  Unavailable: FAILED,
  stalled: "hang",
};
